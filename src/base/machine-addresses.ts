import { networkInterfaces } from 'node:os'
import { reachOf } from '#base/egress/reachable.ts'

const reachable = reachOf([])

/** Whether this address is reachable from the internet. */
export const isPublicAddress = (address: string): boolean => reachable(address) !== undefined

/** Whether it is a loopback address. */
export const isLoopback = (host: string): boolean =>
  host === '::1' || host === 'localhost' || host.startsWith('127.')

/** The non-loopback addresses of this machine, in the order of its interfaces. */
export const machineAddresses = (interfaces: typeof networkInterfaces = networkInterfaces): string[] =>
  Object.values(interfaces())
    .flatMap(found => found ?? [])
    .map(({ address }) => address)
    .filter(address => !isLoopback(address) && !/^(169\.254\.|fe[89ab])/i.test(address))
