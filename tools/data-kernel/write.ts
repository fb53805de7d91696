// Assembles OFTP2's data kernel and writes it where the node finds it, so that no node assembles anything. After a
// change of source.ts: node tools/data-kernel/write.ts (or npm run build). A test fails while the two differ.

import { writeFileSync } from 'node:fs'
import { KERNEL_SOURCE } from './source.ts'
import { assemble } from './wasm-text.ts'

export const KERNEL_MODULE_PATH = 'src/engine/transports/oftp2/data/kernel-module.ts'

/** The text of the module that holds the assembled kernel. */
export function kernelModule(): string {
  const lines =
    Buffer.from(assemble(KERNEL_SOURCE))
      .toString('base64')
      .match(/.{1,100}/g) ?? []
  return `// OFTP2's data kernel, assembled: made by tools/data-kernel/write.ts from tools/data-kernel/source.ts. Change those.
export const KERNEL_MODULE = Buffer.from(
  \`
${lines.join('\n')}
\`,
  'base64',
)
`
}

if (import.meta.main) writeFileSync(new URL(`../../${KERNEL_MODULE_PATH}`, import.meta.url), kernelModule())
