import { RE2JS, RE2JSException } from 're2js'

/** A regular expression as Go writes it: matching takes time that grows with the text alone, whatever the pattern. */
export interface GoRegex {
  /** Whether some part of the text matches. */
  test(text: string): boolean
  /** How many steps it was compiled to: matching takes at most this times the length of the text. */
  programSize(): number
}

/** Why a text is no regular expression. */
export interface RegexFault {
  readonly reason: string
}

/** Compiles a regular expression, or says why it is none. */
export function goRegex(pattern: string): GoRegex | RegexFault {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    return { reason: error.message.replace(/^error parsing regexp: /, '') }
  }
}
