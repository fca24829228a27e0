/** The cost of a pattern, from its text alone: compiling a large one is what must be avoided. */

/** A Unicode class such as \p{L} is hundreds of ranges, which take as long to compile as this many characters. */
const UNICODE_CLASS = 50
/** Bytes of plain text that are searched as fast as one step of a pattern. */
const PLAIN_BYTES_PER_STEP = 8

const PLAIN = /^[^\\^$.|?*+()[\]{}]*$/
const QUOTED = /\\Q([^]*?)(?:\\E|$)/y
const ESCAPE = /\\(?:x\{[^}]*\}|[pP](?:\{[^}]*\}|[^])|[^])/uy
const CLASS = /\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]\\])*\]/y
/** Not an atom: a repetition after it applies to the previous atom. */
const FLAGS = /\(\?[a-zA-Z-]*\)/y
const GROUP = /\((\?(?:P?<\w*>|[a-zA-Z-]*:?))?/y
const REPEAT = /\{(\d+)(?:,(\d*))?\}/y
const UNICODE = /\\[pP]/g

interface Group {
  /** The steps before the latest atom. */
  before: number
  /** The steps of the latest atom, which a repetition multiplies. */
  atom: number
}

/** Whether a pattern is plain text. */
export const isPlain = (pattern: string): boolean => PLAIN.test(pattern)

/** An upper bound for the steps that the pattern compiles to, and for the compile time. */
export function patternSize(pattern: string): number {
  if (isPlain(pattern)) return 1 + Math.ceil(pattern.length / PLAIN_BYTES_PER_STEP)
  const classes = pattern.match(UNICODE)?.length ?? 0
  return new Sizer(pattern).size() + classes * UNICODE_CLASS
}

class Sizer {
  readonly #pattern: string
  readonly #outer: Group[] = []
  #group: Group = { before: 0, atom: 0 }
  #at = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  size(): number {
    while (this.#at < this.#pattern.length) this.#next()
    // An unclosed group makes the pattern invalid; it is counted all the same.
    while (this.#outer.length > 0) this.#close()
    return this.#group.before + this.#group.atom + 3
  }

  #next(): void {
    const quoted = this.#take(QUOTED)
    if (quoted) return this.#add((quoted[1] ?? '').length, 1)
    if (this.#take(ESCAPE) || this.#take(CLASS)) return this.#add(0, 1)
    if (this.#take(FLAGS)) return
    const group = this.#take(GROUP)
    if (group) return this.#open(group[1])
    const repeat = this.#take(REPEAT)
    if (repeat) return this.#multiply(Number(repeat[1]), repeat[2])
    this.#plainSign(this.#pattern[this.#at++] ?? '')
  }

  #plainSign(sign: string): void {
    if (sign === ')') return this.#close()
    if (sign === '|') return this.#add(2, 0)
    if (sign === '*' || sign === '+' || sign === '?') this.#group.atom += 2
    else this.#add(0, 1)
  }

  #take(form: RegExp): RegExpExecArray | undefined {
    form.lastIndex = this.#at
    const found = form.exec(this.#pattern) ?? undefined
    if (found) this.#at = form.lastIndex
    return found
  }

  #add(before: number, atom: number): void {
    this.#group.before += this.#group.atom + before
    this.#group.atom = atom
  }

  #open(header: string | undefined): void {
    this.#outer.push(this.#group)
    const captures = header === undefined || header.includes('<')
    this.#group = { before: captures ? 3 : 1, atom: 0 }
  }

  #close(): void {
    const outer = this.#outer.pop()
    // A bracket that closes nothing makes the pattern invalid.
    if (!outer) return
    const inner = this.#group.before + this.#group.atom
    this.#group = outer
    this.#add(0, inner)
  }

  #multiply(least: number, most: string | undefined): void {
    const copies = Math.max(1, least, Number(most ?? 0))
    this.#group.atom = (this.#group.atom + 1) * copies + 1
  }
}
