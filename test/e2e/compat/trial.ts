import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { operations } from '#contract/operations.ts'
import type { Client, Service, Value } from './client.ts'

/** The result of one method of the client. */
export interface Result {
  readonly service: string
  readonly method: string
  readonly http: string
  readonly result: string
}

interface Seen {
  readonly method: string
  readonly path: string
  readonly status: number
}

const forms = operations.map(({ method, path }) => ({
  method,
  path,
  form: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
}))

/** What Node's own HTTP client, which this client uses, sends and gets while `action` runs. */
async function watching<T>(action: () => Promise<T>): Promise<{ value: T; first: Seen }> {
  const seen: Seen[] = []
  const listener = (message: unknown) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
    const [path = ''] = request.path.split('?')
    seen.push({ method: request.method, path, status: Number(response.statusCode) })
  }
  subscribe('http.client.response.finish', listener)
  try {
    const value = await action()
    const [first] = seen
    assert.ok(first, 'the client sent a request')
    return { value, first }
  } finally {
    unsubscribe('http.client.response.finish', listener)
  }
}

/** Calls the methods of one service and records the result of each. */
export class Trial {
  readonly service: string
  readonly results: Result[] = []
  readonly #client: Service

  constructor(service: string, { services }: Client) {
    const found = services.get(service)
    assert.ok(found, `the client has a service ${service}`)
    this.service = service
    this.#client = found
  }

  has = (method: string): boolean => typeof this.#client[method] === 'function'

  async call(method: string, ...args: readonly unknown[]): Promise<Value> {
    assert.ok(this.has(method), `${this.service} has a method ${method}`)
    return this.#client[method]?.(...args)
  }

  /** The call resolves, and to what `check` expects. */
  async works(
    method: string,
    args: readonly unknown[],
    check: (value: Value) => void | Promise<void>,
    note = '',
  ): Promise<Value> {
    const { value, first } = await watching(() => this.call(method, ...args))
    await check(value)
    this.#keep(method, first, `works (${first.status})${note}`)
    return value
  }

  /** The call rejects with 404, for a reason that the table shows. */
  async finds404(method: string, args: readonly unknown[], reason: string): Promise<void> {
    const { first } = await watching(() => this.rejects404(method, ...args))
    assert.equal(first.status, 404)
    this.#keep(method, first, `returns 404: ${reason}`)
  }

  rejects404(method: string, ...args: readonly unknown[]): Promise<void> {
    return assert.rejects(this.call(method, ...args), { statusCode: 404 })
  }

  #keep(method: string, { method: verb, path }: Seen, result: string): void {
    const known = forms.find(each => each.method === verb && each.form.test(path))
    assert.ok(known, `${verb} ${path} is an operation of the contract`)
    this.results.push({ service: this.service, method, http: `${verb} ${known.path}`, result })
  }
}
