import { fail } from '#base/errors.ts'

const MIN_LENGTH = 12
const MIN_DISTINCT = 5
const MIN_NAME = 4

/** What guessers try first: a password must have more than one of these and a few digits. */
const common = [
  'password',
  'passwort',
  'passw0rd',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwerty',
  'azerty',
  '1q2w3e4r',
  '0123456789',
  '9876543210',
  'abcdefghij',
  'administrator',
  'letmein',
  'iloveyou',
  'welcome',
  'changeme',
  'dashboard',
  'correcthorsebatterystaple',
]

const MIN_REST = 6

/** Rejects passwords that are quickly guessed (NIST SP 800-63B: length and lists, no composition rules). */
export function requireGoodPassword(
  password: string,
  { email, name }: { email: string; name: string },
): void {
  const refuse = (reason: string): never => fail('password_weak', { field: 'password', reason })
  if (Array.from(password).length < MIN_LENGTH) refuse(`has fewer than ${MIN_LENGTH} characters`)
  const lower = password.toLowerCase()
  if (new Set(lower).size < MIN_DISTINCT) refuse(`has fewer than ${MIN_DISTINCT} different characters`)
  const own = [email.split('@')[0] ?? '', name, 'adit'].map(each => each.toLowerCase())
  const guessed = [...common, ...own.filter(each => each.length >= MIN_NAME)]
  const rest = guessed.reduce((left, word) => left.replaceAll(word, ''), lower)
  if (rest.length !== lower.length && rest.length < MIN_REST)
    refuse('is little more than a common word or your own name')
}
