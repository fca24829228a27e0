/** Encodings in order of preference: among equal weights the best ratio of savings to cost wins. */
export const codings = ['zstd', 'br', 'gzip', 'deflate'] as const
export type Coding = (typeof codings)[number]

/** A parsed Accept-Encoding. */
interface Choice {
  /** Undefined when the body should stay unchanged. */
  readonly coding: Coding | undefined
  /** Uncompressed content is not acceptable. */
  readonly identityRefused: boolean
}

const MAX_MEMBERS = 32
const MAX_LENGTH = 512
/** Clients send the same few texts again and again. */
const REMEMBERED = 200
const nothing: Choice = { coding: undefined, identityRefused: false }
const remembered = new Map<string, Choice>()

/** Parses Accept-Encoding (RFC 9110 §12.5.3); absent, nothing is requested. */
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
  // Identity with a higher weight than any coding stays.
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

/** An invalid weight counts as 0. */
function weightOf(parameters: readonly string[]): number {
  const written = parameters.find(parameter => /^q\s*=/.test(parameter))
  if (written === undefined) return 1
  const digits = /^q\s*=\s*([01](?:\.\d{0,3})?)$/.exec(written)?.[1]
  return digits === undefined ? 0 : Math.min(1, Number(digits))
}
