// Line ends of text: LF to CR LF and back. Every LF gets a CR, and one CR is taken from before every LF, so that what
// dosLines makes, unixLines undoes exactly, whatever the text holds.

import { blocks, Packer, type Step } from './step.ts'

type LineEnd = { cr: number; lf: number }

export function dosLines({ cr, lf }: LineEnd): Step {
  return async function* dos(source) {
    const out = new Packer()
    for await (const block of blocks(source)) {
      let from = 0
      for (let at = block.indexOf(lf); at >= 0; at = block.indexOf(lf, from)) {
        out.add(block, from, at)
        out.octet(cr)
        out.octet(lf)
        from = at + 1
      }
      out.add(block, from)
      if (out.ready) yield* out.drain()
    }
    yield* out.finish()
  }
}

export function unixLines({ cr, lf }: LineEnd): Step {
  return async function* unix(source) {
    const out = new Packer()
    // A CR at the end of a block waits for the next octet to tell whether it belongs to a line end.
    let held = false
    for await (const block of blocks(source)) {
      if (held && block[0] !== lf) out.octet(cr)
      let from = 0
      for (let at = block.indexOf(lf); at >= 0; at = block.indexOf(lf, at + 1)) {
        const cut = at > from && block[at - 1] === cr
        if (!cut) continue
        out.add(block, from, at - 1)
        from = at
      }
      held = block.at(-1) === cr
      out.add(block, from, held ? block.length - 1 : block.length)
      if (out.ready) yield* out.drain()
    }
    if (held) out.octet(cr)
    yield* out.finish()
  }
}
