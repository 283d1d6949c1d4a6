// Runs in a page or worker before everything else: counts GPU buffers, and keeps devices, so that tests can see what is
// left and take a device away. Installs `watched` on the global object.
(() => {
  const watched = (globalThis.watched = { buffers: new Set(), made: 0, devices: [] });
  if (!globalThis.GPUDevice) return;
  const { createBuffer, destroy: destroyDevice } = GPUDevice.prototype;
  const { destroy } = GPUBuffer.prototype, { requestDevice } = GPUAdapter.prototype;
  GPUDevice.prototype.createBuffer = function (descriptor) {
    const buffer = createBuffer.call(this, descriptor);
    watched.buffers.add(buffer);
    ++watched.made;
    return buffer;
  };
  GPUBuffer.prototype.destroy = function () {
    watched.buffers.delete(this);
    destroy.call(this);
  };
  GPUAdapter.prototype.requestDevice = async function (descriptor) {
    const device = await requestDevice.call(this, descriptor);
    watched.devices.push(device);
    return device;
  };
  GPUDevice.prototype.destroy = function () {
    watched.devices = watched.devices.filter((device) => device !== this);
    destroyDevice.call(this);
  };
})();
