import { ASCII, type Program, step } from '#base/regex/program.ts'

/** Steps left before the event loop gets a turn. */
export interface Slice {
  left: number
}

const BEGIN_LINE = 1
const END_LINE = 2
const BEGIN_TEXT = 4
const END_TEXT = 8
const WORD_BOUNDARY = 16
const NO_WORD_BOUNDARY = 32
const NEWLINE = 10
const LAST_OF_ONE_UNIT = 0xffff
/** The position before the first and after the last character. */
const NONE = -1

const isWord = (rune: number): boolean =>
  (rune >= 48 && rune <= 57) || (rune >= 65 && rune <= 90) || rune === 95 || (rune >= 97 && rune <= 122)

/** The assertions that hold between two characters. */
function conditions(before: number, after: number): number {
  return (
    (before === NONE ? BEGIN_TEXT | BEGIN_LINE : before === NEWLINE ? BEGIN_LINE : 0) |
    (after === NONE ? END_TEXT | END_LINE : after === NEWLINE ? END_LINE : 0) |
    (isWord(before) === isWord(after) ? NO_WORD_BOUNDARY : WORD_BOUNDARY)
  )
}

/**
 * Searches a text for a match of a program. All alternatives are followed at once, character by character, so each step
 * is taken at most once per character. Unlike the engines of re2js it can pause after any character, and keeps no state
 * between texts.
 */
export class Search {
  readonly #program: Program
  readonly #text: string
  /** For each step the position at which it was last taken. */
  readonly #taken: Int32Array
  readonly #stack: Int32Array
  /** The active steps, the first `#open` entries. */
  #ways: Int32Array
  #spare: Int32Array
  #open = 0
  #position = 0
  #before = NONE

  constructor(program: Program, text: string) {
    const size = program.does.length
    this.#program = program
    this.#text = text
    this.#taken = new Int32Array(size).fill(-1)
    this.#stack = new Int32Array(size * 2 + 1)
    this.#ways = new Int32Array(size)
    this.#spare = new Int32Array(size)
  }

  /** Whether there is a match; undefined when the slice is used up first. */
  run(slice: Slice): boolean | undefined {
    while (slice.left > 0) {
      const rune = this.#text.codePointAt(this.#position) ?? NONE
      if (this.#advance(rune, slice)) return true
      if (rune === NONE) return false
      this.#before = rune
      this.#position += rune > LAST_OF_ONE_UNIT ? 2 : 1
    }
    return undefined
  }

  /** Advances all alternatives by one character; true when one has matched. */
  #advance(rune: number, slice: Slice): boolean {
    const { does, out, arg, start } = this.#program
    const [taken, stack, ways, position] = [this.#taken, this.#stack, this.#ways, this.#position]
    const holds = conditions(this.#before, rune)
    const next = this.#spare
    let [open, waiting, count] = [0, 0, 0]
    stack[waiting++] = start
    for (let way = 0; way < this.#open; way++) stack[waiting++] = ways[way] ?? 0
    while (waiting > 0) {
      const at = stack[--waiting] ?? 0
      if (taken[at] === position) continue
      taken[at] = position
      count++
      const what = does[at]
      if (what === step.match) return true
      if (what === step.read) {
        if (this.#reads(at, rune)) next[open++] = out[at] ?? 0
      } else if (what === step.fork) {
        stack[waiting++] = arg[at] ?? 0
        stack[waiting++] = out[at] ?? 0
      } else if (what === step.next || (what === step.assert && ((arg[at] ?? 0) & ~holds) === 0))
        stack[waiting++] = out[at] ?? 0
    }
    // Text without any active alternative takes time as well.
    slice.left -= count + 1
    this.#spare = ways
    this.#ways = next
    this.#open = open
    return false
  }

  #reads(at: number, rune: number): boolean {
    const { set, sets } = this.#program
    const characters = sets[set[at] ?? 0]
    if (rune === NONE || !characters) return false
    return rune < ASCII ? characters.ascii[rune] === 1 : characters.has(rune)
  }
}
