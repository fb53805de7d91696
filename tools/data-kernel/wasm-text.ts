// A small assembler for the part of the WebAssembly text format that the data kernel is written in: one imported
// memory, exported functions over i32 and v128, folded expressions. It turns readable source into a module's bytes.

type Node = string | Node[]

function parse(source: string): Node[] {
  const tokens = source.replace(/;;[^\n]*/g, '').match(/[()]|"[^"]*"|[^\s()]+/g) ?? []
  const root: Node[] = []
  const open: Node[][] = [root]
  for (const token of tokens) {
    const current = open.at(-1) ?? root
    if (token === '(') {
      const list: Node[] = []
      current.push(list)
      open.push(list)
    } else if (token === ')') open.pop()
    else current.push(token)
  }
  return root
}

/** Instructions without immediate operands. */
const PLAIN: Readonly<Record<string, readonly number[]>> = {
  return: [0x0f],
  select: [0x1b],
  'i32.eqz': [0x45],
  'i32.eq': [0x46],
  'i32.ne': [0x47],
  'i32.lt_s': [0x48],
  'i32.lt_u': [0x49],
  'i32.gt_u': [0x4b],
  'i32.ge_u': [0x4f],
  'i32.ctz': [0x68],
  'i32.add': [0x6a],
  'i32.sub': [0x6b],
  'i32.and': [0x71],
  'i32.or': [0x72],
  'i32.xor': [0x73],
  'i32.shr_u': [0x76],
  'i8x16.splat': [0xfd, 0x0f],
  'i8x16.eq': [0xfd, 0x23],
  'v128.and': [0xfd, 0x4e],
  'i8x16.bitmask': [0xfd, 0x64],
}

/** Instructions with an address: alignment 0 (none promised) and an offset. */
const MEMORY: Readonly<Record<string, readonly number[]>> = {
  'i32.load': [0x28],
  'i32.load8_u': [0x2d],
  'i32.store': [0x36],
  'i32.store8': [0x3a],
  'v128.load': [0xfd, 0x00],
  'v128.store': [0xfd, 0x0b],
}

const LOCAL: Readonly<Record<string, number>> = { 'local.get': 0x20, 'local.set': 0x21, 'local.tee': 0x22 }
const TYPES: Readonly<Record<string, number>> = { i32: 0x7f, v128: 0x7b }

function unsigned(value: number): number[] {
  const out: number[] = []
  for (let left = value; ;) {
    const octet = left & 0x7f
    left >>>= 7
    if (left === 0) return [...out, octet]
    out.push(octet | 0x80)
  }
}

function signed(value: number): number[] {
  const out: number[] = []
  for (let left = value; ;) {
    const octet = left & 0x7f
    left >>= 7
    if ((left === 0 && (octet & 0x40) === 0) || (left === -1 && (octet & 0x40) !== 0)) return [...out, octet]
    out.push(octet | 0x80)
  }
}

function wrong(what: string): Error {
  return new Error(`kernel source: ${what}`)
}

function lookUp(table: Readonly<Record<string, number>>, key: Node | undefined): number {
  const found = typeof key === 'string' ? table[key] : undefined
  if (found === undefined) throw wrong(`unknown name ${String(key)}`)
  return found
}

class FunctionBody {
  readonly code: number[] = []
  readonly #locals: Readonly<Record<string, number>>
  readonly #labels: string[] = []

  constructor(locals: Readonly<Record<string, number>>) {
    this.#locals = locals
  }

  emit(node: Node): void {
    if (typeof node === 'string') throw wrong(`stray ${node}`)
    const [operation, ...rest] = node
    if (typeof operation !== 'string') throw wrong('an expression without operation')
    if (operation === 'block' || operation === 'loop') this.#scope(operation === 'block' ? 0x02 : 0x03, rest)
    else if (operation === 'if') this.#choose(rest)
    else this.#simple(operation, rest)
  }

  #scope(opcode: number, [label, ...body]: Node[]): void {
    this.code.push(opcode, 0x40)
    this.#labels.push(String(label))
    for (const one of body) this.emit(one)
    this.#labels.pop()
    this.code.push(0x0b)
  }

  #choose([condition, ...arms]: Node[]): void {
    this.emit(condition ?? [])
    this.code.push(0x04, 0x40)
    this.#labels.push('')
    for (const [index, arm] of arms.entries()) {
      if (index > 0) this.code.push(0x05)
      for (const one of arm.slice(1)) this.emit(one)
    }
    this.#labels.pop()
    this.code.push(0x0b)
  }

  #simple(operation: string, rest: Node[]): void {
    const offset = rest.find((one) => typeof one === 'string' && one.startsWith('offset='))
    for (const operand of rest) if (typeof operand !== 'string') this.emit(operand)
    const local = LOCAL[operation]
    const memory = MEMORY[operation]
    const plain = PLAIN[operation]
    if (operation === 'i32.const') this.code.push(0x41, ...signed(Number(rest[0])))
    else if (operation === 'br' || operation === 'br_if') {
      const depth = this.#labels.length - 1 - this.#labels.lastIndexOf(String(rest[0]))
      if (depth >= this.#labels.length) throw wrong(`unknown label ${String(rest[0])}`)
      this.code.push(operation === 'br' ? 0x0c : 0x0d, ...unsigned(depth))
    } else if (local !== undefined) this.code.push(local, ...unsigned(lookUp(this.#locals, rest[0])))
    else if (memory !== undefined)
      this.code.push(...memory, 0, ...unsigned(Number(String(offset ?? '=0').split('=')[1])))
    else if (plain !== undefined) this.code.push(...plain)
    else throw wrong(`unknown instruction ${operation}`)
  }
}

type Compiled = { name: string; params: number[]; results: number[]; code: number[] }

function compile(node: Node): Compiled {
  const names: Record<string, number> = {}
  const compiled: Compiled = { name: '', params: [], results: [], code: [] }
  const locals: number[] = []
  const body: Node[] = []
  for (const part of node.slice(1)) {
    const [head, first, second] = part
    if (head === 'export') compiled.name = String(first).replaceAll('"', '')
    else if (head === 'result') compiled.results.push(lookUp(TYPES, first))
    else if (head === 'param' || head === 'local') {
      names[String(first)] = Object.keys(names).length
      const into = head === 'param' ? compiled.params : locals
      into.push(lookUp(TYPES, second))
    } else body.push(part)
  }
  const written = new FunctionBody(names)
  for (const one of body) written.emit(one)
  const declared = locals.flatMap((type) => [1, type])
  const whole = [...unsigned(locals.length), ...declared, ...written.code, 0x0b]
  compiled.code = [...unsigned(whole.length), ...whole]
  return compiled
}

function section(id: number, items: readonly (readonly number[])[]): number[] {
  const body = [...unsigned(items.length), ...items.flat()]
  return [id, ...unsigned(body.length), ...body]
}

function name(text: string): number[] {
  return [...unsigned(text.length), ...Buffer.from(text, 'latin1')]
}

function vector(types: readonly number[]): number[] {
  return [...unsigned(types.length), ...types]
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]

/** The bytes of the module that `source` describes; it imports its memory as env.memory. */
export function assemble(source: string): Uint8Array<ArrayBuffer> {
  const functions = parse(source).map(compile)
  return Uint8Array.from([
    ...MAGIC,
    ...section(
      1,
      functions.map((one) => [0x60, ...vector(one.params), ...vector(one.results)]),
    ),
    ...section(2, [[...name('env'), ...name('memory'), 0x02, 0x00, 0x01]]),
    ...section(
      3,
      functions.map((_, index) => unsigned(index)),
    ),
    ...section(
      7,
      functions.map((one, index) => [...name(one.name), 0x00, ...unsigned(index)]),
    ),
    ...section(
      10,
      functions.map((one) => one.code),
    ),
  ])
}
