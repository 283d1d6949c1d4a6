// navigator.gpu in Node: npm `webgpu`, which is Dawn.
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
// The object must live as long as its devices.
const gpu = create([]);
Object.defineProperty(globalThis, 'navigator', { value: { gpu }, configurable: true });
