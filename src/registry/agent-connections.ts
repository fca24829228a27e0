/**
 * An agent may keep further connections to other gateway processes. Each is a session with its own tunnels, named after
 * those of the first one: `ts_X/1`, `tn_X/1`. Agents and the API know only the plain ids.
 */
export const connectionId = (id: string, connection: number): string =>
  connection === 0 ? id : `${id}/${connection}`

export function connectionNumber(id: string): number {
  const slash = id.indexOf('/')
  return slash === -1 ? 0 : Number(id.slice(slash + 1))
}

export function baseId(id: string): string {
  const slash = id.indexOf('/')
  return slash === -1 ? id : id.slice(0, slash)
}

/** An agent has no more connections than these. */
export const MAX_AGENT_CONNECTIONS = 4

/** The record of a plain id: through the first connection of its agent, or through another one while that is lost. */
export function anyConnection<T>(records: ReadonlyMap<string, T>, id: string): T | undefined {
  for (let index = 0; index < MAX_AGENT_CONNECTIONS; index++) {
    const record = records.get(connectionId(id, index))
    if (record !== undefined) return record
  }
  return undefined
}

/** The records of a plain id, one for each connection of its agent. */
export const connectionsOf = <T>(records: ReadonlyMap<string, T>, id: string): readonly T[] =>
  Array.from({ length: MAX_AGENT_CONNECTIONS }, (_, index) => connectionId(id, index)).flatMap(
    each => records.get(each) ?? [],
  )

/** The same tunnel through the other connections of its agent. */
export const otherConnections = <T extends { readonly id: string }>(
  records: ReadonlyMap<string, T>,
  { id }: T,
): readonly T[] => connectionsOf(records, baseId(id)).filter(other => other.id !== id)

export const isPrimary = ({ id }: { readonly id: string }): boolean => !id.includes('/')

/** Further connections of an agent are internal to the gateway; one represents all. */
export const primaryOnly = <T extends { readonly id: string }>(records: ReadonlyMap<string, T>): T[] =>
  [...records.values()].filter(it => isPrimary(it) || anyConnection(records, baseId(it.id)) === it)
