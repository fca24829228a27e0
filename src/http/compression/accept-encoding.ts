/** Ways to compress, the preferred one first: what visitors weigh alike is decided by what it saves for its cost. */
export const codings = ['zstd', 'br', 'gzip', 'deflate'] as const
export type Coding = (typeof codings)[number]

/** What a visitor accepts. */
export interface Choice {
  /** Undefined when the content is to stay as it is. */
  readonly coding: Coding | undefined
  /** Content that is not compressed at all is not wanted. */
  readonly identityRefused: boolean
}

const MAX_MEMBERS = 32
const MAX_LENGTH = 512
/** Visitors send the same few texts again and again. */
const REMEMBERED = 200
const nothing: Choice = { coding: undefined, identityRefused: false }
const remembered = new Map<string, Choice>()

/** Reads an Accept-Encoding field (RFC 9110 §12.5.3); absent, it asks for nothing. */
export function chooseCoding(accepted: string | undefined): Choice {
  if (accepted === undefined || accepted === '' || accepted.length > MAX_LENGTH) return nothing
  const known = remembered.get(accepted)
  if (known !== undefined) return known
  const choice = read(accepted)
  if (remembered.size >= REMEMBERED) remembered.clear()
  remembered.set(accepted, choice)
  return choice
}

function read(accepted: string): Choice {
  const weights = new Map<string, number>()
  for (const member of accepted.split(',').slice(0, MAX_MEMBERS)) {
    const [name = '', ...parameters] = member.split(';').map(part => part.trim().toLowerCase())
    weights.set(name === 'x-gzip' ? 'gzip' : name, weightOf(parameters))
  }
  const others = weights.get('*') ?? 0
  const identity = weights.get('identity')
  const identityRefused = (identity ?? weights.get('*')) === 0
  let best: Coding | undefined
  // What is asked for as it is, and more than any coding, stays so.
  let weight = identity ?? 0
  for (const coding of codings) {
    const own = weights.get(coding) ?? others
    if (own > 0 && (own > weight || (best === undefined && own === weight))) {
      best = coding
      weight = own
    }
  }
  return { coding: best, identityRefused }
}

/** A weight that is none counts as a refusal. */
function weightOf(parameters: readonly string[]): number {
  const written = parameters.find(parameter => /^q\s*=/.test(parameter))
  if (written === undefined) return 1
  const digits = /^q\s*=\s*([01](?:\.\d{0,3})?)$/.exec(written)?.[1]
  return digits === undefined ? 0 : Math.min(1, Number(digits))
}
