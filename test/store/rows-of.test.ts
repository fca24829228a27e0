import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rowsOf } from '#store/rows-of.ts'
import type { RowPage } from '#store/store.ts'
import { forEachDriver } from './drivers.ts'
import { ids, insert, remove, write } from './writes.ts'

forEachDriver('rows of a kind', ({ newDatabase }) => {
  const open = async () => (await newDatabase())()
  const names = ['t_1', 't_2', 't_3', 't_4', 't_5']

  for (const pageSize of [1, 2, 5, 6])
    test(`are all read, newest first, ${pageSize} at a time`, async () => {
      await using store = await open()
      await write(store, ...names.map(id => insert(id)), insert('o_1', { kind: 'other' }))
      const rows = await Array.fromAsync(rowsOf(store, 'thing', { pageSize }))
      assert.deepEqual(ids(rows), names.toReversed())
    })

  test('are none when there are none', async () => {
    await using store = await open()
    assert.deepEqual(await Array.fromAsync(rowsOf(store, 'thing')), [])
  })

  test('can be limited to one parent', async () => {
    await using store = await open()
    await write(store, insert('p_1'), insert('p_2'))
    for (const id of names) await write(store, insert(id, { kind: 'child', parent: 'p_1' }))
    await write(store, insert('t_6', { kind: 'child', parent: 'p_2' }))
    const rows = await Array.fromAsync(rowsOf(store, 'child', { parent: 'p_1', pageSize: 2 }))
    assert.deepEqual(ids(rows), names.toReversed())
  })

  test('may be deleted while they are read', async () => {
    await using store = await open()
    await write(store, ...names.map(id => insert(id)))
    const seen: string[] = []
    for await (const { id } of rowsOf(store, 'thing', { pageSize: 2 })) {
      seen.push(id)
      await write(store, remove(id))
    }
    assert.deepEqual(seen, names.toReversed())
  })

  test('are not read further than the caller asks', async () => {
    await using store = await open()
    await write(store, ...names.map(id => insert(id)))
    let reads = 0
    const list = (kind: string, page: RowPage) => {
      reads++
      return store.list(kind, page)
    }
    for await (const { id } of rowsOf({ list }, 'thing', { pageSize: 2 })) if (id === 't_4') break
    assert.equal(reads, 1)
  })
})
