import { type GatewayOptions, type ListenerName, listenerNames } from '#gateway/gateway-options.ts'
import type { ListenAddress } from '#gateway/listeners/acceptor.ts'

/** Where the listeners are open. */
export type BoundAddresses = Partial<Record<ListenerName, ListenAddress>>

/** A listener that could not be opened. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly listener: ListenerName
  readonly address: ListenAddress

  constructor(listener: ListenerName, address: ListenAddress, cause: unknown) {
    super(`The listener for ${listener} cannot be opened.`, { cause })
    this.listener = listener
    this.address = address
  }
}

type Opens = Readonly<
  Record<ListenerName, { listen(address: ListenAddress): Promise<ListenAddress> } | undefined>
>

/** Opens one listener after the other, and enters each into `bound` once it is open. */
export async function openListeners(
  listeners: Opens,
  addresses: GatewayOptions['addresses'],
  bound: BoundAddresses,
): Promise<void> {
  for (const name of listenerNames) {
    const [address, listener] = [addresses[name], listeners[name]]
    if (address === undefined || listener === undefined) continue
    try {
      bound[name] = await listener.listen(address)
    } catch (error) {
      throw new ListenError(name, address, error)
    }
  }
}
