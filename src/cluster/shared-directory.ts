import type { Log } from '#base/log.ts'
import type { Added, Directory, SessionEnd, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { Channel } from '#cluster/channel.ts'
import { DirectoryCopy } from '#cluster/directory-copy.ts'

/**
 * A worker's copy of the directory: the first process decides, and sends every worker the changes. The pipe preserves
 * order, so a change arrives here before the response to its request.
 */
export class SharedDirectory extends DirectoryCopy implements Directory {
  readonly #channel: Channel

  constructor(channel: Channel, log?: Log) {
    super(log)
    this.#channel = channel
  }

  addSession = (record: SessionRecord): Promise<void> => this.#channel.request('addSession', record)
  removeSession = (id: string, node: string, end?: SessionEnd): Promise<void> =>
    this.#channel.request('removeSession', { id, node, end })
  addTunnel = (record: TunnelRecord): Promise<Added> => this.#channel.request('addTunnel', record)
  removeTunnel = (id: string): Promise<void> => this.#channel.request('removeTunnel', id)
}
