import { RE2JS, RE2JSException } from 're2js'
import type { PatternBudget } from '#base/regex/pattern-budget.ts'
import { isPlain } from '#base/regex/pattern-size.ts'
import { programOf } from '#base/regex/program.ts'
import { Search, type Slice } from '#base/regex/search.ts'

/** A Go regular expression: matching is linear in the text, whatever the pattern. */
export interface GoRegex {
  /** Whether any part of the text matches. */
  test(text: string): boolean
  /** The same in slices, so that other work is not blocked. */
  search(text: string): { run(slice: Slice): boolean | undefined }
}

/** Why a text is not a valid regular expression. */
interface RegexFault {
  readonly reason: string
  /** Whether it exceeds the budget. */
  readonly isTooLarge: boolean
}

/** Compiles a regular expression if the budget allows it, or returns why it cannot be used. */
export function goRegex(pattern: string, budget: PatternBudget): GoRegex | RegexFault {
  if (!budget.spend(pattern))
    return {
      reason: `the patterns are too large in total, at most ${budget.limit} steps; remove patterns, or use smaller repetitions, because x{1,50} counts 50 times`,
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
