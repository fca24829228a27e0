import { Ngrok } from '@ngrok/ngrok-api'
import * as exported from '@ngrok/ngrok-api/lib/services.js'
import clientPackage from '@ngrok/ngrok-api/package.json' with { type: 'json' }

// oxlint-disable-next-line typescript/no-explicit-any -- the client's own types promise Map and Date where it hands out parsed JSON
export type Value = any
export type Service = Record<string, (...args: unknown[]) => Promise<Value>>
type ServiceClass = new (httpClient: unknown) => Service

export const clientVersion: string = clientPackage.version

const isClass = (value: unknown): boolean => typeof value === 'function'
const classes = new Map(
  Object.entries<unknown>(exported).filter(([, value]) => isClass(value)) as [string, ServiceClass][],
)

/** The names of the public methods of every service class that the client has, in its own order. */
export const clientMethods: ReadonlyMap<string, readonly string[]> = new Map(
  [...classes].map(([name, { prototype }]) => [
    name,
    Object.getOwnPropertyNames(prototype).filter(
      method => method !== 'constructor' && !method.startsWith('_'),
    ),
  ]),
)

/** Every object that the client holds, those in its groups `backends`, `edges` and `edgeModules` included. */
function held(client: object): object[] {
  const objects = Object.values(client).filter(value => typeof value === 'object' && value !== null)
  return objects.flatMap(value => (Object.getPrototypeOf(value) === Object.prototype ? held(value) : [value]))
}

export interface Client {
  readonly services: ReadonlyMap<string, Service>
  /** Classes that the client has but does not offer as a property; these were made by hand. */
  readonly unreachable: readonly string[]
}

export function openClient(apiToken: string, baseUrl: string): Client {
  const client = new Ngrok({ apiToken, baseUrl })
  const offered = held(client)
  const { httpClient } = client as unknown as { httpClient: unknown }
  const unreachable: string[] = []
  const services = new Map<string, Service>()
  for (const [name, Class] of classes) {
    const found = offered.find(value => value instanceof Class)
    if (!found) unreachable.push(name)
    services.set(name, found ?? new Class(httpClient))
  }
  return { services, unreachable }
}
