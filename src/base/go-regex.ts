import { RE2JS, RE2JSException } from 're2js'
import type { PatternBudget } from '#base/regex/pattern-budget.ts'
import { isPlain } from '#base/regex/pattern-size.ts'
import { programOf } from '#base/regex/program.ts'
import { Search, type Slice } from '#base/regex/search.ts'

/** A regular expression as Go writes it: matching takes time that grows with the text alone, whatever the pattern. */
export interface GoRegex {
  /** Whether some part of the text matches. */
  test(text: string): boolean
  /** The same in slices, for what must not be kept waiting. */
  search(text: string): { run(slice: Slice): boolean | undefined }
}

/** Why a text cannot be used as a regular expression. */
export interface RegexFault {
  readonly reason: string
  /** Whether it is the budget that it exceeds. */
  readonly isTooLarge: boolean
}

/** Compiles a regular expression for which the budget has room, or returns why it cannot be used. */
export function goRegex(pattern: string, budget: PatternBudget): GoRegex | RegexFault {
  if (!budget.spend(pattern))
    return {
      reason: `the patterns are too large together, at most ${budget.limit} steps are possible; remove patterns, or write smaller repetitions, because x{1,50} counts 50 times`,
      isTooLarge: true,
    }
  if (isPlain(pattern)) return plain(pattern)
  try {
    const program = programOf(RE2JS.compile(pattern))
    const search = (text: string): Search => new Search(program, text)
    return { search, test: text => search(text).run({ left: Infinity }) === true }
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    return { reason: error.message.replace(/^error parsing regexp: /, ''), isTooLarge: false }
  }
}

function plain(wanted: string): GoRegex {
  const test = (text: string): boolean => text.includes(wanted)
  return {
    test,
    search: text => ({
      run(slice) {
        slice.left -= text.length
        return test(text)
      },
    }),
  }
}
