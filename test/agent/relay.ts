import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { cut } from '#tunnel/splice.ts'
import { HOST } from './support.ts'

/** Stands between an agent and its gateway as a network does, and can fail as one does. */
interface Relay extends AsyncDisposable {
  readonly address: string
  /** How many connections were made so far. */
  readonly count: number
  /** Breaks the current connections. */
  cut(): void
  /** From now on all bytes are dropped, without an error at either end. */
  freeze(): void
  /** New connections are refused, or are taken again. */
  refuse(yes: boolean): void
}

export async function relayTo(port: number): Promise<Relay> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let count = 0
  let refusing = false
  const server = createServer(near => {
    near.on('error', () => undefined)
    if (refusing) {
      near.resetAndDestroy()
      return
    }
    count++
    const far = connect({ host: HOST, port })
    far.on('error', () => undefined)
    const pair = [near, far] as const
    pairs.add(pair)
    near.pipe(far).pipe(near)
    for (const socket of pair)
      socket.once('close', () => {
        pairs.delete(pair)
        for (const other of pair) other.destroy()
      })
  })
  await once(server.listen(0, HOST), 'listening')
  const cutAll = (): void => {
    for (const pair of pairs) for (const socket of pair) cut(socket)
  }
  return {
    address: `${HOST}:${(server.address() as AddressInfo).port}`,
    get count() {
      return count
    },
    cut: cutAll,
    freeze() {
      for (const [near, far] of pairs) {
        near.unpipe(far)
        far.unpipe(near)
        near.pause()
        far.pause()
      }
    },
    refuse(yes) {
      refusing = yes
    },
    async [Symbol.asyncDispose]() {
      cutAll()
      server.close()
      await once(server, 'close')
    },
  }
}
