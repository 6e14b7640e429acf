"""Types of the options of braggpipe.simulate, made by scripts/make-python-options: do not edit."""
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

import numpy
import numpy.typing

Flag = bool | numpy.bool_ | None
Number = str | float | numpy.integer[Any] | numpy.floating[Any] | None  # a str may have a unit: "50um"
Numbers = Number | Sequence[float] | numpy.typing.NDArray[Any]
Text = str | None
Texts = str | Sequence[str] | None
Path = str | PathLike[str] | None
Keys = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] | None


class Geometry(TypedDict, total=False):
    absorption: Number
    anomalous: Flag
    beam_center: Numbers
    beam_height: Number
    beam_size: Number
    beam_vector: Numbers
    cell: Numbers
    close_center: Numbers
    close_distance: Number
    column: Texts
    convention: Literal["mosflm", "denzo", "adxv", "xds", "dials", "custom"] | None
    crystal: Keys
    crystal_size: Numbers
    curved: Flag
    cut: Numbers
    default_F: Number
    detector: Path
    detpixels: Numbers
    detsize: Numbers
    diffuse_damp: Flag
    diffuse_gamma: Numbers
    diffuse_sigma: Numbers
    dispersion: Number
    dispersion_steps: Number
    distance: Number
    divergence: Number
    divergence_h: Number
    divergence_h_steps: Number
    divergence_rms: Number
    divergence_steps: Number
    divergence_v: Number
    divergence_v_steps: Number
    dmin: Number
    energy: Number
    exposure: Number
    expt: Path
    fast_axis: Numbers
    fluence: Number
    flux: Number
    fprime: Path
    fudge: Number
    geom: Path
    harmonic_absorption: Number
    harmonic_signal: Number
    hkl: Path
    interpolate: Literal["auto", "on", "off"] | None
    layers: Number
    light: Path
    light_occupancy: Number
    mask: Path
    matrix: Path
    misalign: Keys
    misalign_seed: Number
    misalign_truth: Path
    model: Path
    mosaic_model: Literal["domains", "gauss"] | None
    mosaic_rms: Numbers
    mtz: Path
    name: Text
    ncells: Numbers
    ncells_across: Numbers
    no_polarization: Flag
    normal: Numbers
    orgx: Number
    orgy: Number
    oversample: Number
    oversample_each_polarization: Flag
    oversample_each_solid_angle: Flag
    oversample_each_thickness: Flag
    overwrite: Flag
    panels: Literal["image", "modules"] | None
    physics: Literal["physical", "faithful"] | None
    pivot: Literal["beam", "sample"] | None
    pixel: Number
    point_pixel: Flag
    polarization: Number
    polarization_fraction: Number
    polarization_vector: Numbers
    probe: Literal["xray", "electron", "neutron"] | None
    roi: Numbers
    rotate: Numbers
    sensor: Literal["auto", "layers", "smear"] | None
    shape: Literal["square", "round", "gauss", "tophat", "star"] | None
    signal: Literal["count", "energy"] | None
    sites: Path
    slow_axis: Numbers
    source_file: Path
    spacegroup: Text
    spindle: Numbers
    square_divergence: Flag
    strain_rms: Numbers
    thickness: Number
    third_harmonic: Number
    twotheta: Number
    twotheta_axis: Numbers
    voltage: Number
    wavelength: Number
    weights: Literal["ignore", "apply", "override"] | None
    wilson: Number
    wilson_atoms: Number
    wilson_seed: Number
    write_geom: Path
    write_true_geom: Path


class Orient(TypedDict, total=False):
    bandwidth: Number
    beam_jitter: Number
    cell_correlation: Number
    cell_spread: Numbers
    channels: Number
    coffset: Number
    coffset_jitter: Number
    collected: Number
    critical_energy: Number
    crystals_at: Path
    exposed: Number
    facility: Text
    filter: Numbers
    first_pulse: Number
    fluence_jitter: Number
    frames: Number
    gate: Path
    gate_z: Flag
    hit_rate: Number
    lattice_spread: Number
    lattices: Number
    mean_lattices: Number
    mesh: Numbers
    mesh_crystals: Number
    mesh_step: Numbers
    misset: Numbers
    mixture: Numbers
    mosaic: Number
    mosaic_domains: Number
    mosaic_seed: Number
    mount: Numbers
    only: Numbers
    orientations: Path
    osc: Number
    overwrite: Flag
    pedestal: Number
    phi_steps: Number
    phi0: Number
    pulse: Number
    pulse_step: Number
    pump: Text
    pumped: Number
    pumped_spread: Number
    random: Flag
    ripple: Number
    run_start: Number
    runs: Path
    sample_at: Numbers
    scan: Path
    second: Number
    seed: Number
    separation: Number
    share_beam: Number
    share_spread: Number
    shares: Numbers
    shift_jitter: Number
    shifts: Path
    snake: Flag
    spectra: Path
    spectrum: Text
    spectrum_range: Numbers
    steps: Literal["given", "auto"] | None
    train_pulses: Number
    truth: Path
    vary: Keys
    vary_file: Path
    wavelength_jitter: Number


class Intensity(TypedDict, total=False):
    derivatives: Texts
    device: Number
    engine: Literal["reference", "cpu", "cuda"] | None
    faint: Number
    fuse: Keys
    gpus: Flag
    isa: Literal["baseline", "avx2", "avx512"] | None
    labels: Flag
    near_spots: Number
    precision: Literal["mixed", "double"] | None
    reflections: Flag | Number
    threads: Number
    trace_pixel: Numbers


class Background(TypedDict, total=False):
    air: Number
    density: Number
    device: Number
    engine: Literal["cpu", "cuda"] | None
    flat: Number
    ice: Number
    ice_crystal: Number
    ice_frames: Number
    jitter: Number
    molecular_weight: Number
    powder: Path
    powder_crystal: Number
    powder_frames: Number
    powder_grains: Number
    powder_seed: Number
    powder_strain: Number
    powder_thickness: Number
    stol: Path
    stol_axis: Literal["stol", "4stol", "q"] | None
    streak: Number
    streak_angle: Numbers
    streak_size: Numbers
    streak_spread: Number
    thickness: Number
    threads: Number
    water: Number


class Noise(TypedDict, total=False):
    adc_offset: Number
    bad_pixels: Path
    beamstop: Numbers
    beamstop_angle: Number
    beamstop_arm: Number
    beamstop_distance: Number
    beamstop_offset: Numbers
    beamstop_shape: Literal["disc", "rectangle"] | None
    beamstop_transmission: Number
    bias: Number
    bits: Literal["16", "32", 16, 32] | None
    calibration: Number
    calibration_files: Path
    calibration_seed: Number
    cell_spread: Number
    count_time: Number
    counter: Literal["perfect", "nonparalysable", "paralysable", "pulse"] | None
    dead: Number
    dead_time: Number
    device: Number
    engine: Literal["cpu", "cuda"] | None
    flicker: Number
    gain: Number
    gain_switching: Flag
    generator: Literal["philox", "nanobragg"] | None
    hot: Number
    hot_photons: Number
    no_poisson: Flag
    psf: Literal["none", "gauss", "fiber", "charge"] | None
    psf_fwhm: Number
    psf_radius: Number
    readout: Number
    saturation: Number
    seed: Number
    shadow: Path
    stage_gains: Numbers
    stage_pedestals: Numbers
    stage_spread: Numbers
    threads: Number
    transmission: Path
    unmasked: Flag
    words: Literal["jungfrau", "agipd"] | None


class SetOptions(TypedDict, total=False):
    absorption: Number
    adc_offset: Number
    after_noise: Texts
    air: Number
    anomalous: Flag
    background: Background | bool
    bad_pixels: Path
    bandwidth: Number
    beam_center: Numbers
    beam_height: Number
    beam_jitter: Number
    beam_size: Number
    beam_vector: Numbers
    beamstop: Numbers
    beamstop_angle: Number
    beamstop_arm: Number
    beamstop_distance: Number
    beamstop_offset: Numbers
    beamstop_shape: Literal["disc", "rectangle"] | None
    beamstop_transmission: Number
    before_noise: Texts
    bias: Number
    bits: Literal["16", "32", 16, 32] | None
    calibration: Number
    calibration_files: Path
    calibration_seed: Number
    cell: Numbers
    cell_correlation: Number
    cell_spread: Numbers
    channels: Number
    close_center: Numbers
    close_distance: Number
    coffset: Number
    coffset_jitter: Number
    collected: Number
    column: Texts
    convention: Literal["mosflm", "denzo", "adxv", "xds", "dials", "custom"] | None
    count_time: Number
    counter: Literal["perfect", "nonparalysable", "paralysable", "pulse"] | None
    critical_energy: Number
    crystal: Keys
    crystal_size: Numbers
    crystals_at: Path
    curved: Flag
    cut: Numbers
    dead: Number
    dead_time: Number
    default_F: Number
    density: Number
    derivatives: Texts
    detector: Path
    detpixels: Numbers
    detsize: Numbers
    device: Number
    diffuse_damp: Flag
    diffuse_gamma: Numbers
    diffuse_sigma: Numbers
    dispersion: Number
    dispersion_steps: Number
    distance: Number
    divergence: Number
    divergence_h: Number
    divergence_h_steps: Number
    divergence_rms: Number
    divergence_steps: Number
    divergence_v: Number
    divergence_v_steps: Number
    dmin: Number
    energy: Number
    engine: Literal["reference", "cpu", "cuda"] | None
    exposed: Number
    exposure: Number
    expt: Path
    facility: Text
    faint: Number
    fast_axis: Numbers
    filter: Numbers
    first_pulse: Number
    flat: Number
    flicker: Number
    fluence: Number
    fluence_jitter: Number
    flux: Number
    fprime: Path
    fudge: Number
    fuse: Keys
    gain: Number
    gain_switching: Flag
    gate: Path
    gate_z: Flag
    generator: Literal["philox", "nanobragg"] | None
    geom: Path
    geometry: Geometry | bool
    gpus: Flag
    harmonic_absorption: Number
    harmonic_signal: Number
    hit_rate: Number
    hkl: Path
    hot: Number
    hot_photons: Number
    ice: Number
    ice_crystal: Number
    ice_frames: Number
    intensity: Intensity | bool
    interpolate: Literal["auto", "on", "off"] | None
    isa: Literal["baseline", "avx2", "avx512"] | None
    jitter: Number
    labels: Flag
    lattice_spread: Number
    lattices: Number
    layers: Number
    light: Path
    light_occupancy: Number
    mask: Path
    matrix: Path
    mean_lattices: Number
    mesh: Numbers
    mesh_crystals: Number
    mesh_step: Numbers
    misalign: Keys
    misalign_seed: Number
    misalign_truth: Path
    misset: Numbers
    mixture: Numbers
    model: Path
    molecular_weight: Number
    mosaic: Number
    mosaic_domains: Number
    mosaic_model: Literal["domains", "gauss"] | None
    mosaic_rms: Numbers
    mosaic_seed: Number
    mount: Numbers
    mtz: Path
    name: Text
    ncells: Numbers
    ncells_across: Numbers
    near_spots: Number
    no_poisson: Flag
    no_polarization: Flag
    noise: Noise | bool
    normal: Numbers
    orgx: Number
    orgy: Number
    orient: Orient | bool
    orientations: Path
    osc: Number
    oversample: Number
    oversample_each_polarization: Flag
    oversample_each_solid_angle: Flag
    oversample_each_thickness: Flag
    overwrite: Flag
    panels: Literal["image", "modules"] | None
    pedestal: Number
    phi0: Number
    phi_steps: Number
    physics: Literal["physical", "faithful"] | None
    pivot: Literal["beam", "sample"] | None
    pixel: Number
    point_pixel: Flag
    polarization: Number
    polarization_fraction: Number
    polarization_vector: Numbers
    powder: Path
    powder_crystal: Number
    powder_frames: Number
    powder_grains: Number
    powder_seed: Number
    powder_strain: Number
    powder_thickness: Number
    precision: Literal["mixed", "double"] | None
    probe: Literal["xray", "electron", "neutron"] | None
    psf: Literal["none", "gauss", "fiber", "charge"] | None
    psf_fwhm: Number
    psf_radius: Number
    pulse: Number
    pulse_step: Number
    pump: Text
    pumped: Number
    pumped_spread: Number
    random: Flag
    readout: Number
    reflections: Flag | Number
    ripple: Number
    roi: Numbers
    rotate: Numbers
    run_start: Number
    runs: Path
    sample_at: Numbers
    saturation: Number
    scan: Path
    second: Number
    seed: Number
    sensor: Literal["auto", "layers", "smear"] | None
    separation: Number
    shadow: Path
    shape: Literal["square", "round", "gauss", "tophat", "star"] | None
    share_beam: Number
    share_spread: Number
    shares: Numbers
    shift_jitter: Number
    shifts: Path
    signal: Literal["count", "energy"] | None
    sites: Path
    slow_axis: Numbers
    snake: Flag
    source_file: Path
    spacegroup: Text
    spectra: Path
    spectrum: Text
    spectrum_range: Numbers
    spindle: Numbers
    square_divergence: Flag
    stage_gains: Numbers
    stage_pedestals: Numbers
    stage_spread: Numbers
    steps: Literal["given", "auto"] | None
    stol: Path
    stol_axis: Literal["stol", "4stol", "q"] | None
    strain_rms: Numbers
    streak: Number
    streak_angle: Numbers
    streak_size: Numbers
    streak_spread: Number
    thickness: Number
    third_harmonic: Number
    threads: Number
    trace_pixel: Numbers
    train_pulses: Number
    transmission: Path
    truth: Path
    twotheta: Number
    twotheta_axis: Numbers
    unmasked: Flag
    vary: Keys
    vary_file: Path
    voltage: Number
    water: Number
    wavelength: Number
    wavelength_jitter: Number
    weights: Literal["ignore", "apply", "override"] | None
    wilson: Number
    wilson_atoms: Number
    wilson_seed: Number
    words: Literal["jungfrau", "agipd"] | None
    write_geom: Path
    write_true_geom: Path


class RecipesOptions(TypedDict, total=False):
    absorption: Number
    anomalous: Flag
    bandwidth: Number
    beam_center: Numbers
    beam_height: Number
    beam_jitter: Number
    beam_size: Number
    beam_vector: Numbers
    cell: Numbers
    cell_correlation: Number
    cell_spread: Numbers
    channels: Number
    close_center: Numbers
    close_distance: Number
    coffset: Number
    coffset_jitter: Number
    collected: Number
    column: Texts
    convention: Literal["mosflm", "denzo", "adxv", "xds", "dials", "custom"] | None
    critical_energy: Number
    crystal: Keys
    crystal_size: Numbers
    crystals_at: Path
    curved: Flag
    cut: Numbers
    default_F: Number
    detector: Path
    detpixels: Numbers
    detsize: Numbers
    diffuse_damp: Flag
    diffuse_gamma: Numbers
    diffuse_sigma: Numbers
    dispersion: Number
    dispersion_steps: Number
    distance: Number
    divergence: Number
    divergence_h: Number
    divergence_h_steps: Number
    divergence_rms: Number
    divergence_steps: Number
    divergence_v: Number
    divergence_v_steps: Number
    dmin: Number
    energy: Number
    exposed: Number
    exposure: Number
    expt: Path
    facility: Text
    fast_axis: Numbers
    filter: Numbers
    first_pulse: Number
    fluence: Number
    fluence_jitter: Number
    flux: Number
    fprime: Path
    frames: Number
    fudge: Number
    gate: Path
    gate_z: Flag
    geom: Path
    harmonic_absorption: Number
    harmonic_signal: Number
    hit_rate: Number
    hkl: Path
    interpolate: Literal["auto", "on", "off"] | None
    lattice_spread: Number
    lattices: Number
    layers: Number
    light: Path
    light_occupancy: Number
    mask: Path
    matrix: Path
    mean_lattices: Number
    mesh: Numbers
    mesh_crystals: Number
    mesh_step: Numbers
    misalign: Keys
    misalign_seed: Number
    misalign_truth: Path
    misset: Numbers
    mixture: Numbers
    model: Path
    mosaic: Number
    mosaic_domains: Number
    mosaic_model: Literal["domains", "gauss"] | None
    mosaic_rms: Numbers
    mosaic_seed: Number
    mount: Numbers
    mtz: Path
    ncells: Numbers
    ncells_across: Numbers
    no_polarization: Flag
    normal: Numbers
    only: Numbers
    orgx: Number
    orgy: Number
    orientations: Path
    osc: Number
    oversample: Number
    oversample_each_polarization: Flag
    oversample_each_solid_angle: Flag
    oversample_each_thickness: Flag
    overwrite: Flag
    panels: Literal["image", "modules"] | None
    pedestal: Number
    phi0: Number
    phi_steps: Number
    physics: Literal["physical", "faithful"] | None
    pivot: Literal["beam", "sample"] | None
    pixel: Number
    point_pixel: Flag
    polarization: Number
    polarization_fraction: Number
    polarization_vector: Numbers
    probe: Literal["xray", "electron", "neutron"] | None
    pulse: Number
    pulse_step: Number
    pump: Text
    pumped: Number
    pumped_spread: Number
    random: Flag
    ripple: Number
    roi: Numbers
    rotate: Numbers
    run_start: Number
    runs: Path
    sample_at: Numbers
    scan: Path
    second: Number
    seed: Number
    sensor: Literal["auto", "layers", "smear"] | None
    separation: Number
    shape: Literal["square", "round", "gauss", "tophat", "star"] | None
    share_beam: Number
    share_spread: Number
    shares: Numbers
    shift_jitter: Number
    shifts: Path
    signal: Literal["count", "energy"] | None
    sites: Path
    slow_axis: Numbers
    snake: Flag
    source_file: Path
    spacegroup: Text
    spectra: Path
    spectrum: Text
    spectrum_range: Numbers
    spindle: Numbers
    square_divergence: Flag
    steps: Literal["given", "auto"] | None
    strain_rms: Numbers
    thickness: Number
    third_harmonic: Number
    train_pulses: Number
    truth: Path
    twotheta: Number
    twotheta_axis: Numbers
    vary: Keys
    vary_file: Path
    voltage: Number
    wavelength: Number
    wavelength_jitter: Number
    weights: Literal["ignore", "apply", "override"] | None
    wilson: Number
    wilson_atoms: Number
    wilson_seed: Number
    write_geom: Path
    write_true_geom: Path


class Options(SetOptions, total=False):
    frames: Number
    only: Numbers
