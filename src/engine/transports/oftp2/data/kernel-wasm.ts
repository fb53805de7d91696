// The data kernel in WebAssembly: assembled when the project is built, compiled once per process. Each kernel has its
// own memory.
import type { Kernel } from './kernel.ts'
import { KERNEL_MODULE } from './kernel-module.ts'
import { referenceKernel } from './kernel-reference.ts'

let compiled: WebAssembly.Module | undefined

/** A kernel over a new block of memory of at least `size` octets. */
export function createKernel(size: number): Kernel {
  const pages = Math.ceil(size / 65536)
  try {
    compiled ??= new WebAssembly.Module(KERNEL_MODULE)
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
    const { exports } = new WebAssembly.Instance(compiled, { env: { memory } })
    // The module is our own: it exports the functions of the interface with its signatures.
    const { encodePlain, encodePacked, decode } = exports as unknown as Omit<Kernel, 'memory' | 'registers'>
    const buffer = memory.buffer
    return {
      memory: new Uint8Array(buffer),
      registers: new Int32Array(buffer, 0, 4),
      encodePlain,
      encodePacked,
      decode,
    }
  } catch {
    // No WebAssembly SIMD, or no address space left for another memory: slower, and right all the same.
    return referenceKernel(pages * 65536)
  }
}
