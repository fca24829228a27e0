import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forEachDriver } from './drivers.ts'
import { domain, event, expect, ids, insert, remove, row, update, write } from './writes.ts'

forEachDriver('store', ({ newDatabase }) => {
  const open = async () => (await newDatabase())()

  test('reads back a row exactly as it was written', async () => {
    await using store = await open()
    const body = JSON.stringify({ text: 'ü 漢 🚇 \u0000 "quoted" $1 ?1', long: 'x'.repeat(100_000) })
    await write(store, insert('ep_1', { kind: 'endpoint', body }))
    assert.deepEqual(await store.get('ep_1'), row('ep_1', { kind: 'endpoint', body }))
    assert.equal(await store.get('ep_2'), undefined)
  })

  test('gets those rows that exist among many ids', async () => {
    await using store = await open()
    await write(store, insert('a'), insert('b'), insert('c'))
    const found = await store.getMany(['c', 'x', 'a', 'a'])
    assert.deepEqual(ids(found).toSorted(), ['a', 'c'])
    assert.deepEqual(await store.getMany([]), [])
  })

  test('finds the row that holds a claim, until the claim is given up', async () => {
    await using store = await open()
    await write(store, insert('a', { claims: [domain('a.test'), domain('b.test')] }))
    assert.deepEqual(await store.holder(domain('b.test')), row('a'))
    assert.equal(await store.holder({ namespace: 'port', value: 'b.test' }), undefined)
    await write(store, update('a', 2, { claims: [domain('a.test')] }))
    assert.equal(await store.holder(domain('b.test')), undefined)
    await write(store, remove('a', 2))
    assert.equal(await store.holder(domain('a.test')), undefined)
  })

  test('lists newest first by the bytes of the id, a page at a time', async () => {
    await using store = await open()
    const order = ['t_9', 't_A', 't_Z', 't_a', 't_é']
    await write(store, ...order.toReversed().map(id => insert(id)), insert('t_B', { kind: 'other' }))

    const first = await store.list('thing', { limit: 2 })
    assert.deepEqual(ids(first), ['t_é', 't_a'])
    assert.deepEqual(ids(await store.list('thing', { limit: 2, before: 't_a' })), ['t_Z', 't_A'])
    assert.deepEqual(ids(await store.list('thing', { limit: 2, before: 't_A' })), ['t_9'])
    assert.deepEqual(await store.list('thing', { limit: 2, before: 't_9' }), [])
  })

  test('lists the children of one parent', async () => {
    await using store = await open()
    await write(store, insert('p1'), insert('p2'))
    for (const id of ['c1', 'c2', 'c3']) await write(store, insert(id, { kind: 'child', parent: 'p1' }))
    await write(store, insert('c4', { kind: 'child', parent: 'p2' }), insert('d1', { parent: 'p1' }))

    assert.deepEqual(ids(await store.list('child', { parent: 'p1', limit: 2 })), ['c3', 'c2'])
    assert.deepEqual(ids(await store.list('child', { parent: 'p1', before: 'c2', limit: 2 })), ['c1'])
    assert.deepEqual(ids(await store.list('child', { limit: 9 })), ['c4', 'c3', 'c2', 'c1'])
  })

  test('lists who refers to a row, and an update replaces what it refers to', async () => {
    await using store = await open()
    await write(store, insert('t1'), insert('t2'))
    await write(
      store,
      insert('b', { refs: ['t1', 't1'] }),
      insert('a', { refs: ['t1', 't2'] }),
      insert('c', { refs: ['t1'] }),
    )
    assert.deepEqual(ids(await store.referrers('t1', 2)), ['a', 'b'])
    assert.deepEqual(await store.referrers('t2', 9), [row('a')])
    await write(store, update('a', 2, { refs: ['t2'] }))
    assert.deepEqual(ids(await store.referrers('t1', 9)), ['b', 'c'])
  })

  test('lets a row refer to itself and still be removed', async () => {
    await using store = await open()
    await write(store, insert('a', { refs: ['a'] }))
    await write(store, update('a', 2, { refs: ['a'] }), remove('a', 2))
    assert.equal(await store.get('a'), undefined)
  })

  test('replaces kind, parent and body on update', async () => {
    await using store = await open()
    await write(store, insert('p'), insert('a'), update('a', 2, { parent: 'p', body: '{"n":2}' }))
    assert.deepEqual(await store.get('a'), row('a', { parent: 'p', version: 2, body: '{"n":2}' }))
  })

  test('lets later writes of a batch see earlier ones', async () => {
    await using store = await open()
    await write(
      store,
      insert('p'),
      insert('c', { parent: 'p', refs: ['p'] }),
      expect('c', 1),
      update('c', 2, { parent: 'p' }),
    )
    await write(store, remove('c', 2), remove('p'))
    assert.deepEqual(await store.getMany(['p', 'c']), [])
  })

  test('counts every change by one and reports each of them', async () => {
    await using store = await open()
    assert.equal(await store.revision(), 0)
    assert.equal(await write(store, insert('a'), insert('b'), event('e1')), 2)
    assert.equal(await write(store, expect('a', 1)), 2)
    assert.equal(await write(store), 2)
    assert.equal((await store.commit([insert('c'), remove('missing')])).ok, false)
    assert.equal(await write(store, update('a', 2), remove('b')), 4)

    assert.equal(await store.revision(), 4)
    assert.deepEqual(await store.changes(1, 2), [
      { revision: 2, kind: 'thing', id: 'b', op: 'insert' },
      { revision: 3, kind: 'thing', id: 'a', op: 'update' },
    ])
    assert.deepEqual(await store.changes(3, 9), [{ revision: 4, kind: 'thing', id: 'b', op: 'remove' }])
  })

  test('keeps events in the order of commits', async () => {
    await using store = await open()
    await write(store, event('z'))
    await store.commit([event('lost'), remove('missing')])
    await write(store, insert('a'), event('y'), event('x'))
    const events = await store.events(0, 9)
    assert.deepEqual(ids(events), ['z', 'y', 'x'])
    assert.deepEqual(events[0], {
      sequence: 1,
      id: 'z',
      type: 'thing_created.v0',
      at: '2026-01-01T00:00:00Z',
      body: '{"id":"z"}',
    })
    assert.deepEqual(ids(await store.events(events[0]?.sequence ?? 0, 1)), ['y'])
  })

  test('keeps the first value of a meta key', async () => {
    await using store = await open()
    assert.equal(await store.readMeta('key'), undefined)
    assert.equal(await store.claimMeta('key', 'one'), 'one')
    assert.equal(await store.claimMeta('key', 'two'), 'one')
    assert.equal(await store.readMeta('key'), 'one')
  })

  test('prunes old changes and events, however many', async () => {
    await using store = await open()
    const many = Array.from({ length: 2500 }, (_, n) => `r${n}`)
    await write(store, ...many.flatMap(id => [insert(id), event(`e_${id}`, '2026-01-01T00:00:00Z')]))
    await write(store, insert('new'), event('e_new', '2026-02-01T00:00:00Z'))

    await store.prune({ changesUpTo: 2499, eventsBefore: '2026-02-01T00:00:00Z' })
    assert.deepEqual(
      (await store.changes(0, 9)).map(change => change.revision),
      [2500, 2501],
    )
    assert.deepEqual(ids(await store.events(0, 9)), ['e_new'])
    await store.prune({ changesUpTo: 2501, eventsBefore: '2027-01-01T00:00:00Z' })
    assert.equal(await write(store, insert('next'), event('e_next')), 2502)
    assert.deepEqual(
      (await store.events(0, 9)).map(one => one.sequence),
      [2502],
    )
  })

  test('keeps everything when it is opened again', async () => {
    const reopen = await newDatabase()
    {
      await using store = await reopen()
      await store.claimMeta('key', 'one')
      await write(store, insert('t'), insert('a', { refs: ['t'], claims: [domain('a.test')] }), event('e'))
    }
    await using store = await reopen()
    assert.equal(await store.readMeta('key'), 'one')
    assert.deepEqual(ids(await store.referrers('t', 9)), ['a'])
    assert.deepEqual(await store.holder(domain('a.test')), row('a'))
    assert.equal(await write(store, insert('b')), 3)
    assert.deepEqual(ids(await store.events(0, 9)), ['e'])
  })

  test('tries a write without changing anything', async () => {
    await using store = await open()
    await write(store, insert('a'), event('e'))
    await store.tryWrite()
    assert.deepEqual([await store.revision(), await store.lastSequence()], [1, 1])
    assert.deepEqual(await store.get('a'), row('a'))
    assert.equal(await write(store, insert('b')), 2)
  })

  test('answers a ping, and rejects every call once it is closed', async () => {
    const store = await open()
    await store.ping()
    const taken = store.commit([insert('a')])
    await store[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
    assert.deepEqual(await taken, { ok: true, revision: 1 })
    const closed = { name: 'StoreError', code: 'unavailable' }
    await assert.rejects(store.ping(), closed)
    await assert.rejects(store.get('a'), closed)
    await assert.rejects(store.commit([insert('b')]), closed)
    await assert.rejects(store.claimMeta('key', 'one'), closed)
  })
})
