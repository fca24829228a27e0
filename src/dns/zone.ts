import { randomInt } from 'node:crypto'
import { rcodes, types, type Rcode } from '#dns/message.ts'
import { anySet, soaSet, type RecordSet, type Soa } from '#dns/records.ts'

/** Records in a response, under their name. */
export interface Placed {
  readonly owner: string
  readonly set: RecordSet
}

/** The records of a name, by type; none if it only has names below it. */
type Node = ReadonlyMap<number, RecordSet>

/** The source of responses. Its content may change between queries. */
export interface Zones {
  /** The zone of a name: the longest match. */
  zoneOf(name: string): Zone | undefined
}

export interface LookupResult {
  readonly rcode: Rcode
  readonly authoritative: boolean
  readonly answers: readonly Placed[]
  readonly authority: readonly Placed[]
}

const MAX_ALIASES = 8
const ANY_TTL = 3600

/** A name without its first label; undefined for the root. */
function parentOf(name: string): string | undefined {
  const dot = name.indexOf('.')
  if (dot >= 0) return name.slice(dot + 1)
  return name === '' ? undefined : ''
}

/** The name itself or its nearest ancestor among these. */
export function nearest(name: string, names: Pick<ReadonlySet<string>, 'has'>): string | undefined {
  let each: string | undefined = name
  while (each !== undefined && !names.has(each)) each = parentOf(each)
  return each
}

/** All that one name and those below it have. */
export class Zone {
  readonly apex: string
  readonly soa: Placed
  readonly serial: number
  readonly #nodes = new Map<string, Map<number, RecordSet>>()

  /** Records of one name and type are merged; those outside of the zone are dropped. */
  constructor(apex: string, soa: Soa, records: Iterable<readonly [name: string, set: RecordSet]>) {
    this.apex = apex
    this.serial = soa.serial
    this.soa = { owner: apex, set: soaSet(soa) }
    this.#add(apex, this.soa.set)
    for (const [name, set] of records) {
      if (name === apex || name.endsWith(`.${apex}`)) this.#add(name, set)
    }
    // RFC 1034 §3.6.2: an alias has no other records. Other records come first, as at the apex.
    for (const node of this.#nodes.values()) if (node.size > 1) node.delete(types.CNAME)
  }

  /** Makes a name exist without records, so that no wildcard above matches names below it. */
  reserve(name: string): void {
    let next: string | undefined = name
    while (next !== undefined && next.length >= this.apex.length && !this.#nodes.has(next)) {
      this.#nodes.set(next, new Map())
      next = parentOf(next)
    }
  }

  /** RFC 4592: the name itself, or the wildcard right below its nearest existing ancestor. */
  find(name: string): Node | undefined {
    const exact = this.#nodes.get(name)
    if (exact !== undefined) return exact
    const above = nearest(name, this.#nodes)
    return above === undefined ? undefined : this.#nodes.get(`*.${above}`)
  }

  /** All records, those of the zone itself first. */
  *records(): Generator<readonly [name: string, set: RecordSet]> {
    for (const [name, node] of this.#nodes) for (const set of node.values()) yield [name, set]
  }

  #add(name: string, set: RecordSet): void {
    if (set.data.length === 0) return
    this.reserve(name)
    const node = this.#nodes.get(name)
    const known = node?.get(set.type)
    node?.set(set.type, known ? { ...known, data: [...known.data, ...set.data] } : set)
  }
}

/** Zones that stay as they are. */
export class ZoneTable implements Zones {
  readonly #zones: ReadonlyMap<string, Zone>

  constructor(zones: Iterable<Zone>) {
    this.#zones = new Map([...zones].map(zone => [zone.apex, zone]))
  }

  all(): Iterable<Zone> {
    return this.#zones.values()
  }

  zoneOf(name: string): Zone | undefined {
    const apex = nearest(name, this.#zones)
    return apex === undefined ? undefined : this.#zones.get(apex)
  }
}

const refused: LookupResult = { rcode: rcodes.refused, authoritative: false, answers: [], authority: [] }
const anyAnswer = anySet(ANY_TTL)

/** Finds the records of a name and type, through aliases as far as they are ours. */
export function lookUp(zones: Zones, name: string, type: number): LookupResult {
  const answers: Placed[] = []
  let owner = name
  for (let hop = 0; hop < MAX_ALIASES; hop++) {
    const zone = zones.zoneOf(owner)
    if (zone === undefined) return hop === 0 ? refused : found(answers)
    const node = zone.find(owner)
    if (node === undefined) return { ...found(answers, [zone.soa]), rcode: rcodes.nxDomain }
    const set = type === types.ANY && node.size > 0 ? anyAnswer : node.get(type)
    if (set !== undefined) return found([...answers, { owner, set: shuffled(set) }])
    const alias = node.get(types.CNAME)
    const target = alias?.data[0]?.[0]
    if (alias === undefined || typeof target !== 'string') return found(answers, [zone.soa])
    answers.push({ owner, set: alias })
    owner = target
  }
  return found(answers)
}

/** Clients use the first of several addresses, so that every node gets its share. */
function shuffled(set: RecordSet): RecordSet {
  if (set.data.length < 2 || (set.type !== types.A && set.type !== types.AAAA)) return set
  const data = [...set.data]
  for (let last = data.length - 1; last > 0; last--) {
    const other = randomInt(last + 1)
    const [left, right] = [data[last], data[other]]
    if (left !== undefined && right !== undefined) [data[last], data[other]] = [right, left]
  }
  return { ...set, data }
}

const found = (answers: readonly Placed[], authority: readonly Placed[] = []): LookupResult => ({
  rcode: rcodes.noError,
  authoritative: true,
  answers,
  authority,
})
