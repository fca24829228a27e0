import { networkInterfaces } from 'node:os'
import { reachOf } from '#base/egress/reachable.ts'

const reachable = reachOf([])

/** Can the world reach this address? */
export const isPublicAddress = (address: string): boolean => reachable(address) !== undefined

/** Does it lead to this machine alone? */
export const isLoopback = (host: string): boolean =>
  host === '::1' || host === 'localhost' || host.startsWith('127.')

/** The addresses of this machine that others can have a use for, in the order of its interfaces. */
export const machineAddresses = (interfaces: typeof networkInterfaces = networkInterfaces): string[] =>
  Object.values(interfaces())
    .flatMap(found => found ?? [])
    .map(({ address }) => address)
    .filter(address => !isLoopback(address) && !/^(169\.254\.|fe[89ab])/i.test(address))
