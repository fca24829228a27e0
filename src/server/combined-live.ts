import type { Live, LiveCommand, LiveKind, LiveList, LivePage } from '#api/live.ts'
import type { ResourceBody } from '#contract/body.ts'

/** The resources of one kind. */
export interface LiveSource {
  get(id: string): Promise<ResourceBody | undefined>
  list(page: LivePage): Promise<LiveList>
}

/** What a part of the server adds to the live API. */
export interface LivePart {
  readonly sources: Partial<Readonly<Record<LiveKind, LiveSource>>>
  readonly commands: Partial<Readonly<Record<LiveCommand, (id: string) => Promise<void>>>>
}

/** The live API: kinds and commands of these parts, and all others of the gateway. */
export function combineLive(gateway: Live, parts: readonly LivePart[]): Live {
  const sources: LivePart['sources'] = Object.assign({}, ...parts.map(part => part.sources))
  const commands: LivePart['commands'] = Object.assign({}, ...parts.map(part => part.commands))
  return {
    get: (kind, id) => sources[kind]?.get(id) ?? gateway.get(kind, id),
    list: (kind, page) => sources[kind]?.list(page) ?? gateway.list(kind, page),
    command: (id, command) => commands[command]?.(id) ?? gateway.command(id, command),
    tunnelsOf: group => gateway.tunnelsOf(group),
    nameOwners: names => gateway.nameOwners(names),
    explain: request => gateway.explain(request),
    watchOnline: seen => gateway.watchOnline(seen),
    watchRequests: (filters, watcher) => gateway.watchRequests(filters, watcher),
    capture: id => gateway.capture(id),
    replay: order => gateway.replay(order),
    agentLink: id => gateway.agentLink(id),
  }
}
