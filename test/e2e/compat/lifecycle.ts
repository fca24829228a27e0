import assert from 'node:assert/strict'
import type { Caller } from '../../support/server.ts'
import type { Value } from './client.ts'
import type { Trial } from './trial.ts'

export type Fields = Record<string, unknown>

/** The lifecycle of one resource as its caller sees it, with the client's field names. */
interface Lifecycle {
  readonly create: Fields
  /** Fields of the response that differ from the request or are added; undefined for fields that are never returned. */
  readonly made?: Fields
  /** Fields that later responses show differently from the first. */
  readonly readBack?: Fields
  readonly update: Fields
  /** What it then shows otherwise; of what only the server knows, as the answer has it. */
  readonly updated?: Fields | ((answer: Value) => Fields)
  /** What plain requests see after each of the two, where the client changes the keys of a map. */
  readonly wire?: { readonly created: Fields; readonly updated: Fields }
  /** Path parameters besides the id. */
  readonly within?: Fields
}

const defined = (body: Fields): Fields =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))

const SOON = 60_000

/** The fields of every resource. */
async function assertIdentity(value: Value, api: Caller): Promise<void> {
  assert.match(value.id, /^[a-z]+_[0-9A-Za-z]{27}$/)
  assert.equal(typeof value.createdAt, 'string')
  assert.ok(Math.abs(Date.parse(value.createdAt) - Date.now()) < SOON)
  const { body } = await api.get(value.uri)
  assert.equal(body.id, value.id)
}

/** Creates, reads, lists, updates and deletes a resource, and compares each response with the request. */
export async function checkLifecycle(trial: Trial, api: Caller, lifecycle: Lifecycle): Promise<void> {
  const { create, made = {}, readBack = {}, update, updated = {}, within, wire } = lifecycle
  const first = await trial.works('create', [{ ...within, ...create }], async value => {
    assert.partialDeepStrictEqual(value, defined({ ...within, ...create, ...made }))
    await assertIdentity(value, api)
    if (wire) assert.partialDeepStrictEqual((await api.get(value.uri)).body, wire.created)
  })
  const address = within ? { ...within, id: first.id } : first.id
  const got = await trial.works('get', [address], value => {
    assert.deepStrictEqual(value, { ...first, ...readBack })
  })
  const find = (items: Value[]) => items.find(item => item.id === first.id)
  if (trial.has('list')) {
    await trial.works('list', [], (items: Value[]) => assert.deepStrictEqual(find(items), got))
  }
  await trial.works('update', [{ ...within, id: first.id, ...update }], async value => {
    const shown = typeof updated === 'function' ? updated(value) : updated
    assert.deepStrictEqual(value, defined({ ...got, ...update, ...shown }))
    assert.deepStrictEqual(await trial.call('get', address), value)
    if (wire) assert.partialDeepStrictEqual((await api.get(first.uri)).body, wire.updated)
  })
  await trial.works('delete', [address], async () => {
    await trial.rejects404('get', address)
    assert.equal((await api.get(first.uri)).status, 404)
    if (trial.has('list')) assert.equal(find(await trial.call('list')), undefined)
  })
}

/** The lifecycle of one module of an edge or route. */
interface ModuleLifecycle {
  /** The owner: an id, or the ids of edge and route. */
  readonly of: string | { readonly edgeId: string; readonly id: string }
  readonly uri: string
  readonly module: Fields
  readonly shown?: Fields
  readonly wire?: Fields
}

/** Sets, reads and removes a module. */
export async function checkModuleLifecycle(
  trial: Trial,
  api: Caller,
  lifecycle: ModuleLifecycle,
): Promise<void> {
  const { of, uri, module, shown = {}, wire } = lifecycle
  const ids = typeof of === 'string' ? { id: of } : of
  const set = await trial.works('replace', [{ ...ids, module }], async value => {
    assert.partialDeepStrictEqual(value, defined({ enabled: true, ...module, ...shown }))
    if (wire) assert.partialDeepStrictEqual((await api.get(uri)).body, wire)
  })
  await trial.works('get', [of], value => assert.deepStrictEqual(value, set))
  const off = await trial.call('replace', { ...ids, module: { ...module, enabled: false } })
  assert.deepStrictEqual(off, { ...set, enabled: false })
  await trial.works('delete', [of], async () => {
    await trial.rejects404('get', of)
    assert.equal((await api.get(uri)).status, 404)
  })
}
