import { fail } from '#base/errors.ts'

const MIN_LENGTH = 12
const MAX_LENGTH = 128
const MIN_DISTINCT = 5
const MIN_NAME = 4
/** Of what is left without guessable parts. */
const MIN_REST = 6
/** Characters that follow each other on a keyboard or in a sequence. */
const MIN_RUN = 3

/** Words that guessers try first. */
const common = [
  'administrator',
  'baseball',
  'changeme',
  'correcthorsebatterystaple',
  'dashboard',
  'dragon',
  'football',
  'iloveyou',
  'letmein',
  'master',
  'monkey',
  'passw0rd',
  'password',
  'passwort',
  'princess',
  'starwars',
  'sunshine',
  'superman',
  'trustno1',
  'welcome',
]

/** Rows, columns and zigzags of keyboards, and what people count. */
const sequences = [
  '01234567890',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qazwsxedcrfvtgbyhnujm',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik',
  '1q2w3e4r5t6y7u8i9o0p',
].flatMap(each => [each, Array.from(each).toReversed().join('')])

/** Rejects passwords that are quickly guessed (NIST SP 800-63B: length and lists, no composition rules). */
export function requireGoodPassword(
  password: string,
  { email, name }: { email: string; name: string },
): void {
  const refuse = (reason: string): never => fail('password_weak', { field: 'password', reason })
  const { length } = Array.from(password)
  if (length < MIN_LENGTH) refuse(`has fewer than ${MIN_LENGTH} characters`)
  if (length > MAX_LENGTH) fail('password_long', { field: 'password', limit: MAX_LENGTH })
  const lower = password.toLowerCase()
  if (new Set(lower).size < MIN_DISTINCT) refuse(`has fewer than ${MIN_DISTINCT} different characters`)
  const own = [email.split('@')[0] ?? '', name, 'adit'].map(each => each.toLowerCase())
  const guessed = [...common, ...own.filter(each => each.length >= MIN_NAME)]
  const rest = withoutRuns(guessed.reduce((left, word) => left.replaceAll(word, ''), lower))
  if (rest.length !== lower.length && rest.length < MIN_REST)
    refuse('is little more than common words, sequences or your own name')
}

/** The text without its parts of sequences. */
function withoutRuns(text: string): string {
  let rest = ''
  for (let at = 0; at < text.length;) {
    const run = runAt(text, at)
    if (run < MIN_RUN) rest += text[at]
    at += run < MIN_RUN ? 1 : run
  }
  return rest
}

/** The length of the longest part of a sequence that begins there. */
function runAt(text: string, at: number): number {
  let length = 1
  while (
    at + length < text.length &&
    sequences.some(sequence => sequence.includes(text.slice(at, at + length + 1)))
  )
    length++
  return length
}
