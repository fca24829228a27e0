import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { Answer, Call, RemoteObject, Step } from './messages.ts'

/**
 * Runs the SDK for a test, in a process of its own: it keeps sockets and threads after its sessions are closed.
 * Calls come as messages; answers, and what the SDK calls back, go out as messages.
 */
type SdkObject = Record<string, (...args: unknown[]) => unknown>

// By hand another version can be tried: its folder is given instead.
const sdk = createRequire(import.meta.url)(process.env['AGENT_SDK'] ?? '@ngrok/ngrok') as SdkObject
const objects: SdkObject[] = [sdk]

const send = (answer: Answer): void => void process.send?.(answer)

/** Functions and servers cannot be sent, so names represent them. */
function argument(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if ('callback' in value)
    return (...args: unknown[]) => send({ event: String(value.callback), args: args.map(plain) })
  if ('serves' in value)
    return createServer((request, response) => response.end(`${String(value.serves)} ${request.url}`))
  return value
}

/** Objects of the SDK have their values behind getters, which a message leaves out. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) return value.message
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(value)).filter(
    name => name !== 'constructor',
  )
  return Object.fromEntries(names.map(name => [name, Reflect.get(value, name)]))
}

/** An object stays here and is represented by a number; for a listener, its properties are sent too. */
function fact(value: unknown): RemoteObject | RemoteObject[] | undefined {
  if (Array.isArray(value)) return value.map(each => fact(each) as RemoteObject)
  if (typeof value !== 'object' || value === null) return undefined
  const object = value as SdkObject
  const ask = (name: string): unknown =>
    'forwardsTo' in object && 'url' in object ? object[name]?.() : undefined
  return {
    ref: objects.push(object) - 1,
    id: ask('id'),
    url: ask('url'),
    proto: ask('proto'),
    metadata: ask('metadata'),
    forwardsTo: ask('forwardsTo'),
    labels: ask('labels'),
  } as RemoteObject
}

async function take(object: SdkObject | undefined, [name, ...args]: Step): Promise<unknown> {
  const method = object?.[name]
  if (method === undefined) throw new Error(`the SDK has no ${name}`)
  const given = args.map(argument)
  if (name === 'SessionBuilder') return Reflect.construct(method, given)
  return Reflect.apply(method, object, given)
}

async function run({ target, steps }: Call): Promise<RemoteObject | RemoteObject[] | undefined> {
  let value: unknown = objects[target]
  for (const step of steps) value = await take(value as SdkObject, step)
  return fact(value)
}

process.on('disconnect', () => process.exit())
process.on('message', (call: Call) => {
  run(call).then(
    value => send({ id: call.id, value }),
    (error: Error & { errorCode?: string }) =>
      send({ id: call.id, problem: { message: error.message, errorCode: error.errorCode } }),
  )
})
