inc.o: /tmp/inc.c stage/worker.h stage/images.h base/error.h link/links.h \
 base/idset.h link/endpoint.h wire/control.h base/host.h wire/message.h \
 wire/route.h link/exchange.h model/experiment.h model/pulse_ids.h \
 link/groups.h link/mapping.h link/pool.h model/card.h model/frame.h \
 model/planes.h model/recipe.h model/refined.h model/reflections.h \
 wire/descriptor.h link/meter.h link/order.h link/run.h link/curve.h \
 link/keys.h link/port.h link/role.h link/settings.h base/opt.h \
 base/units.h link/seen.h stage/progress.h stage/stage.h stage/runtime.h \
 control/member.h control/stream.h control/window.h link/zap.h \
 wire/codec.h wire/packed.h base/alloc.h base/log.h
stage/worker.h:
stage/images.h:
base/error.h:
link/links.h:
base/idset.h:
link/endpoint.h:
wire/control.h:
base/host.h:
wire/message.h:
wire/route.h:
link/exchange.h:
model/experiment.h:
model/pulse_ids.h:
link/groups.h:
link/mapping.h:
link/pool.h:
model/card.h:
model/frame.h:
model/planes.h:
model/recipe.h:
model/refined.h:
model/reflections.h:
wire/descriptor.h:
link/meter.h:
link/order.h:
link/run.h:
link/curve.h:
link/keys.h:
link/port.h:
link/role.h:
link/settings.h:
base/opt.h:
base/units.h:
link/seen.h:
stage/progress.h:
stage/stage.h:
stage/runtime.h:
control/member.h:
control/stream.h:
control/window.h:
link/zap.h:
wire/codec.h:
wire/packed.h:
base/alloc.h:
base/log.h:
