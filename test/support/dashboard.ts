import assert from 'node:assert/strict'
import { registerSecret } from './secrets.ts'
import type { Answer, Caller, CallOptions } from './server.ts'

/** The token in a sign-in link, which no log may have. */
export const tokenIn = (url: string): string => registerSecret(/#token=(\S+)$/.exec(url)?.[1] ?? '')

/** The name and value of the cookie that an answer sets. */
export const cookieOf = ({ headers }: Answer): string => headers.get('set-cookie')?.split(';')[0] ?? ''

/** A link for the owner of an API key. */
export async function newLink(api: Caller, token = api.token): Promise<string> {
  const answer = await api.post('/dashboard/link', undefined, { token })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return tokenIn(answer.body.url)
}

/** A browser that has signed in. */
export class Browser {
  readonly #api: Caller
  readonly cookie: string
  readonly csrfToken: string
  readonly session: Answer['body']

  constructor(api: Caller, answer: Answer) {
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    this.#api = api
    this.cookie = cookieOf(answer)
    registerSecret(this.cookie.slice(this.cookie.indexOf('=') + 1))
    this.csrfToken = answer.body.csrf_token
    this.session = answer.body
  }

  /** Calls as a page of the dashboard does. */
  call(method: string, path: string, { headers, ...options }: CallOptions = {}): Promise<Answer> {
    const own = {
      cookie: this.cookie,
      origin: this.#api.url,
      'sec-fetch-site': 'same-origin',
      ...(method !== 'GET' && { 'x-csrf-token': this.csrfToken }),
    }
    const all = Object.entries({ ...own, ...headers }).filter(([, value]) => value !== '')
    return this.#api.call(method, path, { token: null, headers: Object.fromEntries(all), ...options })
  }

  get = (path: string, options?: CallOptions) => this.call('GET', path, options)
  post = (path: string, body?: unknown, options?: CallOptions) =>
    this.call('POST', path, { ...(body !== undefined && { body }), ...options })
  delete = (path: string, options?: CallOptions) => this.call('DELETE', path, options)
}

/** Posts as the page that signs in does, without any credential. */
export const postLogin = (api: Caller, body: unknown, headers: Record<string, string> = {}) =>
  postDashboard(api, '/dashboard/login', body, headers)

export const postDashboard = (
  api: Caller,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
) =>
  api.call('POST', path, {
    token: null,
    body,
    headers: { origin: api.url, 'sec-fetch-site': 'same-origin', ...headers },
  })

/** Signs in with a link of this key. */
export const browserOf = async (api: Caller, token = api.token): Promise<Browser> =>
  new Browser(api, await postLogin(api, { token: await newLink(api, token) }))
