import type { RE2JS } from 're2js'

/** One instruction, as re2js compiles it. */
interface Instruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  readonly runes: Int32Array
  matchRune(rune: number): boolean
}

interface Compiled {
  readonly start: number
  readonly inst: readonly Instruction[]
}

/** What a step of a program does. */
export const step = { fail: 0, match: 1, next: 2, fork: 3, assert: 4, read: 5 } as const

/** By re2js instruction number. Group boundaries do not matter for a match. */
const stepOf: readonly number[] = [
  step.fail,
  step.fork,
  step.fork,
  step.next,
  step.assert,
  step.fail,
  step.match,
  step.next,
  step.read,
  step.read,
  step.read,
  step.read,
]
const ANY_RUNE = 10
const ANY_RUNE_BUT_NEWLINE = 11
const NEWLINE = 10
export const ASCII = 128

/** A compiled pattern in flat arrays, several times faster to step through than objects. */
export interface Program {
  readonly start: number
  readonly does: Uint8Array
  readonly out: Int32Array
  /** The second branch of a fork; the conditions of an assertion. */
  readonly arg: Int32Array
  /** The character set of a step. */
  readonly set: Int32Array
  readonly sets: readonly CharacterSet[]
}

interface CharacterSet {
  /** Membership of the first 128 characters. */
  readonly ascii: Uint8Array
  has(rune: number): boolean
}

export function programOf(pattern: RE2JS): Program {
  const compiled = pattern.re2().prog as Compiled
  const { inst } = compiled
  const sets = new CharacterSets()
  return {
    start: compiled.start,
    does: Uint8Array.from(inst, ({ op }) => stepOf[op] ?? step.fail),
    out: Int32Array.from(inst, ({ out }) => out),
    arg: Int32Array.from(inst, ({ arg }) => arg),
    set: Int32Array.from(inst, each => (stepOf[each.op] === step.read ? sets.indexOf(each) : -1)),
    sets: sets.all,
  }
}

/** Copies of a repeated part share the set. */
class CharacterSets {
  readonly all: CharacterSet[] = []
  readonly #known = new Map<Int32Array | string, number>()

  indexOf(instruction: Instruction): number {
    const { runes, op, arg } = instruction
    // The compiler shares the ranges of a class among its copies, but not single characters.
    const key = runes.length > 2 ? runes : `${op}:${arg}:${runes.join()}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    this.#known.set(key, this.all.length)
    return this.all.push(setOf(instruction)) - 1
  }
}

function setOf(instruction: Instruction): CharacterSet {
  const reads = (rune: number): boolean => {
    if (instruction.op === ANY_RUNE) return true
    return instruction.op === ANY_RUNE_BUT_NEWLINE ? rune !== NEWLINE : instruction.matchRune(rune)
  }
  // All copies have the same character, one after the other.
  let latest = { rune: -1, hit: false }
  return {
    ascii: Uint8Array.from({ length: ASCII }, (_, rune) => (reads(rune) ? 1 : 0)),
    has(rune) {
      if (latest.rune !== rune) latest = { rune, hit: reads(rune) }
      return latest.hit
    },
  }
}
