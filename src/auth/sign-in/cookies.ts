import { createHash } from 'node:crypto'

const HOST_PREFIX = '__Host-'
const DEFAULT_PREFIX = 'adit.'
const MAX_CHUNKS = 5
/** Browsers store cookies of up to 4096 bytes, including name and attributes. */
const CHUNK_CHARACTERS = 3700
const FLOW_NAME = /^[a-z0-9]{1,40}$/
const OWN_NAME = /^(?:session(?:-[0-9a-f]{10})?(?:\.\d)?$|flow\.)/
/** Sessions at other routes of the host that a browser keeps, so that all cookies fit into a request head. */
const OTHERS = { sessions: 7, characters: 20_000 } as const

/** The prefix of cookie names for a configured one, which may be empty. */
export const prefixFor = (configured: string): string => configured || DEFAULT_PREFIX

/** The names of our cookies in one realm. */
export interface CookieNames {
  readonly session: string
  /** Followed by the id of a flow. */
  readonly flow: string
  readonly secure: boolean
}

/** Browsers accept and send `__Host-` cookies only over TLS and only for this host. `tag`: see `routeTag`. */
export function cookieNames(prefix: string, scheme: 'http' | 'https', tag = ''): CookieNames {
  const secure = scheme === 'https'
  const start = (secure ? HOST_PREFIX : '') + prefixFor(prefix)
  return { session: `${start}session${tag}`, flow: `${start}flow.`, secure }
}

/** The part of a session cookie's name that keeps the routes of an edge apart: they share their hosts. */
export const routeTag = (routeId: string): string =>
  `-${createHash('sha256').update(routeId).digest('hex').slice(0, 10)}`

/** Whether a cookie is one of ours, in either scheme and at any route: services may neither read nor set them. */
export function ownCookies(prefix: string): (name: string) => boolean {
  const start = prefixFor(prefix)
  return name => {
    const bare = name.startsWith(HOST_PREFIX) ? name.slice(HOST_PREFIX.length) : name
    return bare.startsWith(start) && OWN_NAME.test(bare.slice(start.length))
  }
}

/** Each of our cookie names contains one of these texts. */
export function ownMarks(prefix: string): readonly string[] {
  const { session, flow } = cookieNames(prefix, 'http')
  return [session, flow]
}

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

/** The cookies of this session in the browser. */
export const sessionIn = (jar: Jar, { session }: CookieNames): string[] =>
  [...jar.ours.keys()].filter(name => name === session || name.startsWith(`${session}.`))

/** Set-Cookie values that store a session, and delete leftovers of an earlier one and surplus ones of other routes. */
export function keepSession(text: string, names: CookieNames, jar: Jar, seconds: number): string[] {
  const count = Math.max(1, Math.ceil(text.length / CHUNK_CHARACTERS))
  const chunks = Array.from({ length: count }, (_, at) => {
    const chunk = text.slice(at * CHUNK_CHARACTERS, (at + 1) * CHUNK_CHARACTERS)
    return at === 0
      ? setCookie(names.session, `${count}.${chunk}`, names, seconds)
      : setCookie(`${names.session}.${at}`, chunk, names, seconds)
  })
  const left = Array.from({ length: MAX_CHUNKS - count }, (_, at) => `${names.session}.${count + at}`)
  const dropped = [...left.filter(name => jar.ours.has(name)), ...surplus(jar, names, text.length)]
  return [...chunks, ...dropped.map(name => dropCookie(name, names))]
}

/** The cookies of the oldest other sessions, if there are too many. Browsers send the oldest cookies first. */
function surplus(jar: Jar, names: CookieNames, length: number): string[] {
  const others = Map.groupBy(
    [...jar.ours.keys()].filter(name => isSecure(name) === names.secure && !name.startsWith(names.flow)),
    name => name.replace(/\.\d$/, ''),
  )
  others.delete(names.session)
  let characters = length
  return [...others.values()].toReversed().flatMap((cookies, newer) => {
    for (const name of cookies) characters += jar.ours.get(name)?.length ?? 0
    return newer < OTHERS.sessions && characters <= OTHERS.characters ? [] : cookies
  })
}

const isSecure = (name: string): boolean => name.startsWith(HOST_PREFIX)

/** Deletes the cookies of the session, and those named. */
export const dropSession = (names: CookieNames, jar: Jar, others: readonly string[] = []): string[] =>
  [...new Set([names.session, ...sessionIn(jar, names), ...others])].map(name => dropCookie(name, names))

/** The flows of the browser; their ids begin with their time, so the oldest come first. */
export const flowsIn = (jar: Jar, { flow }: CookieNames): string[] =>
  [...jar.ours.keys()]
    .filter(name => name.startsWith(flow) && FLOW_NAME.test(name.slice(flow.length)))
    .toSorted()

export const setCookie = (name: string, value: string, { secure }: CookieNames, seconds: number): string =>
  `${name}=${value}; Path=/; Max-Age=${Math.max(0, Math.floor(seconds))}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`

export const dropCookie = (name: string, names: CookieNames): string => setCookie(name, '', names, 0)
