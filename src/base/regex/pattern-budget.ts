import { patternSize } from '#base/regex/pattern-size.ts'

/**
 * The steps that all patterns of one filter may have in total. Matching takes at most this times the length of the
 * text. A pattern is charged before it is compiled.
 */
export class PatternBudget {
  readonly limit: number
  #spent = 0

  constructor(limit: number) {
    this.limit = limit
  }

  /** Charges a pattern; false when it does not fit. */
  spend(pattern: string): boolean {
    this.#spent += patternSize(pattern)
    return this.#spent <= this.limit
  }
}
