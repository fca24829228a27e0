const HOST_PREFIX = '__Host-'
const DEFAULT_PREFIX = 'adit.'
const MAX_CHUNKS = 5
/** Browsers store cookies of up to 4096 bytes, including name and attributes. */
const CHUNK_CHARACTERS = 3700
const FLOW_NAME = /^[a-z0-9]{1,40}$/

/** The names of our cookies at one place. */
export interface CookieNames {
  readonly session: string
  /** Followed by the id of a flow. */
  readonly flow: string
  readonly secure: boolean
}

/** Browsers accept and send `__Host-` cookies only over TLS and only for this host. */
export function cookieNames(prefix: string, scheme: 'http' | 'https'): CookieNames {
  const secure = scheme === 'https'
  const start = (secure ? HOST_PREFIX : '') + (prefix || DEFAULT_PREFIX)
  return { session: `${start}session`, flow: `${start}flow.`, secure }
}

/** Whether a cookie is one of ours, in either scheme: services may neither read nor set them. */
export function ownCookies(prefix: string): (name: string) => boolean {
  const start = prefix || DEFAULT_PREFIX
  return name => {
    const bare = name.startsWith(HOST_PREFIX) ? name.slice(HOST_PREFIX.length) : name
    return bare.startsWith(start) && isOwn(bare.slice(start.length))
  }
}

/** Each of our cookie names contains one of these texts. */
export function ownMarks(prefix: string): readonly string[] {
  const { session, flow } = cookieNames(prefix, 'http')
  return [session, flow]
}

const isOwn = (rest: string): boolean =>
  rest === 'session' || (rest.startsWith('session.') && rest.length === 9) || rest.startsWith('flow.')

/** A parsed Cookie header. */
export interface Jar {
  /** The first of repeated names. */
  readonly ours: ReadonlyMap<string, string>
  /** All others, unchanged. */
  readonly rest: string
}

export function readCookies(text: string, isOurs: (name: string) => boolean): Jar {
  const ours = new Map<string, string>()
  const rest: string[] = []
  for (const part of text.split(';')) {
    const pair = part.trim()
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = pair.slice(0, Math.max(equals, 0)).trim()
    if (!isOurs(name)) rest.push(pair)
    else if (!ours.has(name)) ours.set(name, pair.slice(equals + 1).trim())
  }
  return { ours, rest: rest.join('; ') }
}

/** The text split over the session's cookies; undefined when some of it is missing. */
export function joinSession(jar: Jar, { session }: CookieNames): string | undefined {
  const first = jar.ours.get(session)
  if (first?.[1] !== '.') return undefined
  const count = Number(first[0])
  if (!(count >= 1 && count <= MAX_CHUNKS)) return undefined
  let text = first.slice(2)
  for (let at = 1; at < count; at++) {
    const chunk = jar.ours.get(`${session}.${at}`)
    if (chunk === undefined) return undefined
    text += chunk
  }
  return text
}

/** Set-Cookie values that store a session, and delete leftovers of an earlier one. */
export function keepSession(text: string, names: CookieNames, jar: Jar, seconds: number): string[] {
  const count = Math.max(1, Math.ceil(text.length / CHUNK_CHARACTERS))
  const chunks = Array.from({ length: count }, (_, at) => {
    const chunk = text.slice(at * CHUNK_CHARACTERS, (at + 1) * CHUNK_CHARACTERS)
    return at === 0
      ? setCookie(names.session, `${count}.${chunk}`, names, seconds)
      : setCookie(`${names.session}.${at}`, chunk, names, seconds)
  })
  const left = Array.from({ length: MAX_CHUNKS - count }, (_, at) => `${names.session}.${count + at}`)
  return [...chunks, ...left.filter(name => jar.ours.has(name)).map(name => dropCookie(name, names))]
}

/** Deletes every cookie of the session, and of unfinished sign-ins. */
export const dropAll = (names: CookieNames, jar: Jar): string[] =>
  [...new Set([names.session, ...jar.ours.keys()])]
    .filter(name => name.startsWith(names.session) || name.startsWith(names.flow))
    .map(name => dropCookie(name, names))

/** The flows of the browser; their ids begin with their time, so the oldest come first. */
export const flowsIn = (jar: Jar, { flow }: CookieNames): string[] =>
  [...jar.ours.keys()]
    .filter(name => name.startsWith(flow) && FLOW_NAME.test(name.slice(flow.length)))
    .toSorted()

export const setCookie = (name: string, value: string, { secure }: CookieNames, seconds: number): string =>
  `${name}=${value}; Path=/; Max-Age=${Math.max(0, Math.floor(seconds))}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`

export const dropCookie = (name: string, names: CookieNames): string => setCookie(name, '', names, 0)
