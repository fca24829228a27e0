/**
 * An agent may keep further connections to other processes of the gateway. Each is a session with tunnels of its own,
 * named after those of the first one: `ts_X/1`, `tn_X/1`. Agents and the API know only the plain ids.
 */
export const legId = (id: string, leg: number): string => (leg === 0 ? id : `${id}/${leg}`)

export const legOf = (id: string): number => Number(id.split('/')[1] ?? 0)

export const plainId = (id: string): string => id.split('/', 1)[0] ?? id

export const isFirstLeg = ({ id }: { readonly id: string }): boolean => !id.includes('/')
