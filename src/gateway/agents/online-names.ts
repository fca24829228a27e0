import { IdGroups } from '#base/id-groups.ts'
import type { Directory, TunnelRecord } from '#registry/directory.ts'

/** The owner of the online tunnels at each name, in any scheme. */
export class OnlineNames {
  readonly #directory: Directory
  readonly #tunnels = new IdGroups()
  readonly #stop: () => void

  constructor(directory: Directory) {
    this.#directory = directory
    for (const tunnel of directory.tunnels.values()) this.#add(tunnel)
    this.#stop = directory.watch({
      added: tunnel => this.#add(tunnel),
      removed: tunnel => this.#remove(tunnel),
    })
  }

  close(): void {
    this.#stop()
  }

  /** The directory gives a name to one owner only. */
  owner(name: string): string | undefined {
    for (const id of this.#tunnels.of(name)) {
      const tunnel = this.#directory.tunnels.get(id)
      if (tunnel !== undefined) return tunnel.ownerId
    }
    return undefined
  }

  #add(tunnel: TunnelRecord): void {
    const name = nameOf(tunnel)
    if (name !== undefined) this.#tunnels.add(name, tunnel.id)
  }

  #remove(tunnel: TunnelRecord): void {
    const name = nameOf(tunnel)
    if (name !== undefined) this.#tunnels.delete(name, tunnel.id)
  }
}

const nameOf = ({ address }: TunnelRecord): string | undefined =>
  address === undefined || address.scheme === 'tcp' ? undefined : address.host
