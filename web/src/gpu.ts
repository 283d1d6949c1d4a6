// A GPUDevice with what the core must know of it, its compiled kernels, and its errors.

import { Core } from './core.js';
import { SconceError } from './error.js';
import { DeviceLimitsAt, kLiveBytes, kParamsBytes, KernelViewAt } from './layout.js';

const SOFTWARE = 2, INTEGRATED = 1; // sconce::AdapterClass
const READ_ONLY = 'read-only-storage', WRITTEN = 'storage';

/** Used limits, which are requested as high as the adapter offers. */
const LIMITS = [
  'maxComputeWorkgroupsPerDimension', 'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupStorageSize',
  'maxStorageBuffersPerShaderStage', 'maxStorageBufferBindingSize', 'maxBufferSize', 'maxComputeWorkgroupSizeX',
] as const;

export async function openDevice(): Promise<GPUDevice> {
  if (!globalThis.navigator?.gpu)
    throw new SconceError('unsupported', 'This browser has no WebGPU; a current Chrome, Edge, Safari or Firefox has.');
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw new SconceError('unsupported', 'The browser offers no WebGPU adapter; its GPU may be blocked.');
  const requiredFeatures = (['shader-f16', 'subgroups'] as GPUFeatureName[]).filter((f) => adapter.features.has(f));
  const requiredLimits = Object.fromEntries(LIMITS.map((limit) => [limit, adapter.limits[limit]]));
  return adapter.requestDevice({ requiredFeatures, requiredLimits }).catch((error) => {
    throw new SconceError('unsupported', `The browser gives no WebGPU device: ${error}.`);
  });
}

export interface Pipeline {
  label: string;
  layout: GPUBindGroupLayout;
  ready: Promise<void>;
  pipeline?: GPUComputePipeline;
}

export class Gpu {
  private static readonly known = new WeakMap<GPUDevice, Gpu>();
  readonly paramsLayout: GPUBindGroupLayout;
  private readonly pipelines = new Map<string, Pipeline>();
  private readonly layouts = new Map<string, [GPUBindGroupLayout, GPUPipelineLayout]>();
  private lost?: SconceError;
  private failure?: SconceError; // what the device reported outside of guarded calls

  /** The one Gpu of a device: models that share the device share its pipelines. */
  static of(device: GPUDevice): Gpu {
    let gpu = this.known.get(device);
    if (!gpu) this.known.set(device, (gpu = new Gpu(device)));
    return gpu;
  }

  private constructor(readonly device: GPUDevice) {
    const visibility = GPUShaderStage.COMPUTE;
    this.paramsLayout = device.createBindGroupLayout({
      entries: [
        { binding: 0, visibility, buffer: { type: 'uniform', hasDynamicOffset: true, minBindingSize: kParamsBytes } },
        { binding: 1, visibility, buffer: { type: 'uniform', minBindingSize: kLiveBytes } },
      ],
    });
    device.lost.then(({ reason, message }) => {
      this.lost = new SconceError('device_lost', `The GPU device is lost (${reason}: ${message || 'no message'}); load the model again.`);
    });
  }

  check() {
    if (this.lost) throw this.lost;
  }

  /**
   * Of a device that nobody else uses: what it reports outside of guarded calls fails the run during which it comes, in
   * whose results it may be. A caller's device reports to its own handler, where Sconce cannot tell whose the error is.
   */
  watch() {
    this.device.addEventListener?.('uncapturederror', ({ error }) => {
      const code = error instanceof GPUOutOfMemoryError ? 'out_of_memory' : 'internal';
      this.failure ??= new SconceError(code, `The GPU reports an error while it runs: ${error.message}`);
    });
  }
  /** Throws what was reported since the last call. */
  checkReports() {
    const { failure } = this;
    this.failure = undefined;
    if (failure) throw failure;
  }
  /** Whether `error` came with the loss of the device; then the error to report instead. */
  async explain(error: unknown): Promise<SconceError> {
    await Promise.race([this.device.lost, new Promise((resolve) => setTimeout(resolve, 50))]);
    await undefined;
    if (this.lost) return this.lost;
    if (error instanceof SconceError) return error;
    const whose = error instanceof WebAssembly.RuntimeError ? 'The core stops; this is a defect of Sconce' : 'WebGPU refuses a call';
    return new SconceError('internal', `${whose}: ${error}`);
  }

  /** Runs `make` and throws what the device reports of it. `what`: "buffer 7 of 1024 bytes for an activation". */
  async guarded<T>(what: () => string, make: () => T): Promise<T> {
    const { device } = this;
    device.pushErrorScope('validation');
    device.pushErrorScope('out-of-memory');
    let made: T;
    let errors: Promise<(GPUError | null)[]>;
    try {
      made = make();
    } finally {
      errors = Promise.all([device.popErrorScope(), device.popErrorScope()]);
      errors.catch(() => {});
    }
    const [memory, validation] = await errors;
    this.check();
    if (memory) throw new SconceError('out_of_memory', `The GPU has no room for ${what()}: ${memory.message}`);
    if (validation) throw new SconceError('internal', `The GPU refuses ${what()}: ${validation.message}`);
    return made;
  }

  /** Whether the device computes on the CPU; a browser does not tell other kinds apart. */
  get isSoftware(): boolean {
    const info = this.device.adapterInfo;
    return info?.isFallbackAdapter || /swiftshader|llvmpipe/i.test(`${info?.architecture} ${info?.description}`);
  }

  /** sconce::AdapterClass. */
  get adapterClass(): number {
    return this.isSoftware ? SOFTWARE : INTEGRATED;
  }

  /** Writes DeviceLimits for the core, the same for the same device. */
  writeLimits(core: Core, at: number) {
    const { limits, features } = this.device;
    const info = this.device.adapterInfo;
    const view = core.view;
    const set = (member: number, value: number) => view.setUint32(at + member, value, true);
    set(DeviceLimitsAt.adapterClass, this.adapterClass);
    set(DeviceLimitsAt.f16, Number(features.has('shader-f16')));
    set(DeviceLimitsAt.subgroups, Number(features.has('subgroups')));
    set(DeviceLimitsAt.packedDot, Number(navigator.gpu.wgslLanguageFeatures?.has('packed_4x8_integer_dot_product') ?? 0));
    set(DeviceLimitsAt.subgroupMinSize, info?.subgroupMinSize || 4);
    set(DeviceLimitsAt.subgroupMaxSize, info?.subgroupMaxSize || 128);
    set(DeviceLimitsAt.maxWorkgroupsPerDimension, limits.maxComputeWorkgroupsPerDimension);
    set(DeviceLimitsAt.maxInvocationsPerWorkgroup, limits.maxComputeInvocationsPerWorkgroup);
    set(DeviceLimitsAt.maxWorkgroupStorageBytes, limits.maxComputeWorkgroupStorageSize);
    set(DeviceLimitsAt.maxStorageBuffers, limits.maxStorageBuffersPerShaderStage);
    view.setBigUint64(at + DeviceLimitsAt.maxStorageBindingBytes, BigInt(limits.maxStorageBufferBindingSize), true);
    view.setBigUint64(at + DeviceLimitsAt.maxBufferBytes, BigInt(limits.maxBufferSize), true);
  }

  /** Starts to compile a variant of a kernel, or gives the one that was started. */
  pipeline(core: Core, kernel: number, variant: number): Pipeline {
    const key = `${kernel}:${variant}`;
    const known = this.pipelines.get(key);
    if (known) return known;
    const label = core.string(core.call('kernel_label', kernel, variant));
    const code = core.string(core.call('kernel_text', kernel, variant));
    const [group, layout] = this.layoutsOf(core, kernel);
    const module = this.device.createShaderModule({ label, code });
    const made: Pipeline = { label, layout: group, ready: Promise.resolve() };
    made.ready = this.device
      .createComputePipelineAsync({ label, layout, compute: { module, entryPoint: 'main' } })
      .then((pipeline) => void (made.pipeline = pipeline), (error) => {
        this.pipelines.delete(key); // another model may try again
        this.check();
        throw new SconceError('internal', `The kernel ${label} does not compile: ${error.message ?? error}`);
      });
    made.ready.catch(() => {}); // whoever awaits it is told
    this.pipelines.set(key, made);
    return made;
  }

  private layoutsOf(core: Core, kernel: number): [GPUBindGroupLayout, GPUPipelineLayout] {
    const { bindings, writes } = core.scratch(KernelViewAt.byteLength, (at) => {
      core.call('kernel_describe', kernel, at);
      const words = core.words.subarray(at >> 2);
      return { bindings: words[KernelViewAt.bindings >> 2], writes: words[KernelViewAt.writes >> 2] };
    });
    const key = `${bindings}:${writes}`;
    let layouts = this.layouts.get(key);
    if (!layouts) {
      const entries = Array.from({ length: bindings }, (_, binding): GPUBindGroupLayoutEntry => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: (writes >> binding) & 1 ? WRITTEN : READ_ONLY },
      }));
      const group = this.device.createBindGroupLayout({ entries });
      const bindGroupLayouts = [group, this.paramsLayout];
      this.layouts.set(key, (layouts = [group, this.device.createPipelineLayout({ bindGroupLayouts })]));
    }
    return layouts;
  }
}
