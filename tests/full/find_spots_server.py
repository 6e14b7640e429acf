"""find_spots_server.py: runs dials.find_spots_server on a free port of the loopback interface.

Prints the port first.  The program itself would listen on all interfaces.
"""
import dials.command_line.find_spots_server as program


class Loopback(program.server_base.HTTPServer):
    def __init__(self, address, handler):
        super().__init__(("127.0.0.1", 0), handler)
        print(self.server_port, flush=True)


program.server_base.HTTPServer = Loopback
program.main(1, 0)
