import assert from 'node:assert/strict'
import type { Claim, RowEntry, Row, Store, Write } from '#store/store.ts'

type Details = Partial<Omit<Row, 'id'> & Omit<RowEntry, 'row'>>

export const row = (
  id: string,
  { kind = 'thing', parent = null, version = 1, body = '{}' }: Details = {},
): Row => ({
  id,
  kind,
  parent,
  version,
  body,
})

const entry = (id: string, details: Details = {}): RowEntry => ({
  row: row(id, details),
  refs: details.refs ?? [],
  claims: details.claims ?? [],
})

export const insert = (id: string, details?: Details): Write => ({ op: 'insert', entry: entry(id, details) })

/** `version` is the new one. */
export const update = (id: string, version: number, details?: Details): Write => ({
  op: 'update',
  entry: entry(id, { ...details, version }),
})

export const remove = (id: string, version = 1): Write => ({ op: 'remove', id, version })

export const expect = (id: string, version: number): Write => ({ op: 'expect', id, version })

export const event = (id: string, at = '2026-01-01T00:00:00Z'): Write => ({
  op: 'event',
  event: { id, type: 'thing_created.v0', at, body: `{"id":"${id}"}` },
})

export const domain = (value: string): Claim => ({ namespace: 'domain', value })

/** Commits what must be accepted, all in one batch. */
export async function write(store: Store, ...batch: readonly Write[]): Promise<number> {
  const outcome = await store.commit(batch)
  assert.ok(outcome.ok, `refused: ${JSON.stringify(outcome)}`)
  return outcome.revision
}

export const ids = (rows: readonly { readonly id: string }[]): string[] => rows.map(one => one.id)
