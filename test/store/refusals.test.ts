import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CommitRefusal, Write } from '#store/store.ts'
import { forEachDriver } from './drivers.ts'
import { domain, event, expect, ids, insert, remove, row, update, write } from './writes.ts'

/** The writes before each of the batches below. */
const before: readonly Write[] = [
  insert('t'),
  insert('a', { refs: ['t'], claims: [domain('a.test')] }),
  insert('z', { refs: ['t'] }),
  insert('p'),
  insert('c', { parent: 'p', claims: [domain('c.test')] }),
]

const claimed = (value: string, owner: string): CommitRefusal => ({
  reason: 'claimed',
  claim: domain(value),
  owner,
})

const refused: readonly (readonly [why: string, batch: readonly Write[], refusal: CommitRefusal])[] = [
  ['an insert of an id that exists', [insert('a')], { reason: 'exists', id: 'a' }],
  ['an update of a row that changed', [update('a', 3)], { reason: 'stale', id: 'a' }],
  ['an update to the version that stands', [update('a', 1)], { reason: 'stale', id: 'a' }],
  ['an update of a row that is gone', [update('x', 2)], { reason: 'stale', id: 'x' }],
  ['a removal of a row that changed', [remove('t', 2)], { reason: 'stale', id: 't' }],
  ['a removal of a row that is gone', [remove('x')], { reason: 'stale', id: 'x' }],
  ['an expectation that is not met', [expect('a', 2)], { reason: 'stale', id: 'a' }],
  ['an expectation of a row that is gone', [expect('x', 1)], { reason: 'stale', id: 'x' }],
  ['a parent that is missing', [insert('n', { parent: 'x' })], { reason: 'missing', id: 'n', target: 'x' }],
  [
    'a row that is its own parent',
    [insert('n', { parent: 'n' })],
    { reason: 'missing', id: 'n', target: 'n' },
  ],
  [
    'a reference that is missing',
    [update('a', 2, { refs: ['x'] })],
    { reason: 'missing', id: 'a', target: 'x' },
  ],
  ['a removal of what is referred to', [remove('t')], { reason: 'in_use', id: 't', by: 'a' }],
  ['a removal of a parent', [remove('p')], { reason: 'in_use', id: 'p', by: 'c' }],
  ['a claim that another row holds', [insert('n', { claims: [domain('a.test')] })], claimed('a.test', 'a')],
  [
    'an update to a claim of another',
    [update('z', 2, { claims: [domain('a.test')] })],
    claimed('a.test', 'a'),
  ],

  // Precedence: the first write that fails, and in it the row, then its parent, references and claims in order.
  [
    'exists before missing',
    [insert('a', { parent: 'x', claims: [domain('c.test')] })],
    { reason: 'exists', id: 'a' },
  ],
  ['stale before missing', [update('a', 9, { refs: ['x'] })], { reason: 'stale', id: 'a' }],
  [
    'the parent before references',
    [insert('n', { parent: 'x', refs: ['y'] })],
    { reason: 'missing', id: 'n', target: 'x' },
  ],
  [
    'references in order and before claims',
    [insert('n', { refs: ['t', 'y', 'x'], claims: [domain('a.test')] })],
    { reason: 'missing', id: 'n', target: 'y' },
  ],
  [
    'claims in order',
    [insert('n', { claims: [domain('n.test'), domain('c.test'), domain('a.test')] })],
    claimed('c.test', 'c'),
  ],
  ['stale before in use', [remove('t', 7)], { reason: 'stale', id: 't' }],
  [
    'the first of two failing writes',
    [insert('n'), remove('p'), insert('a')],
    { reason: 'in_use', id: 'p', by: 'c' },
  ],

  // Within a batch a write sees the ones before it.
  ['the same id inserted twice', [insert('n'), insert('n')], { reason: 'exists', id: 'n' }],
  ['an expectation broken by the batch', [update('a', 2), expect('a', 1)], { reason: 'stale', id: 'a' }],
  [
    'a child before its parent',
    [insert('n', { parent: 'm' }), insert('m')],
    { reason: 'missing', id: 'n', target: 'm' },
  ],
  [
    'a reference to what was removed',
    [remove('a'), insert('n', { refs: ['a'] })],
    { reason: 'missing', id: 'n', target: 'a' },
  ],
  [
    'a claim made twice',
    [insert('m', { claims: [domain('n.test')] }), insert('n', { claims: [domain('n.test')] })],
    claimed('n.test', 'm'),
  ],
  [
    'a claim taken before it is released',
    [insert('n', { claims: [domain('a.test')] }), update('a', 2)],
    claimed('a.test', 'a'),
  ],
]

forEachDriver('store refuses', ({ newDatabase }) => {
  for (const [why, batch, refusal] of refused) {
    test(why, async () => {
      await using store = await (await newDatabase())()
      await write(store, ...before)
      assert.deepEqual(await store.commit(batch), { ok: false, refusal })

      // As part of a batch with effects, and between other batches of the same transaction.
      const outcomes = await Promise.all([
        store.commit([insert('left')]),
        store.commit([insert('lost', { claims: [domain('l.test')] }), event('e_lost'), ...batch]),
        store.commit([insert('right', { claims: [domain('l.test')] })]),
      ])
      assert.deepEqual(outcomes, [
        { ok: true, revision: 6 },
        { ok: false, refusal },
        { ok: true, revision: 7 },
      ])
      assert.deepEqual(ids(await store.getMany(['left', 'lost', 'right'])).toSorted(), ['left', 'right'])
      assert.deepEqual(await store.events(0, 9), [])
      assert.deepEqual(ids(await store.changes(5, 9)), ['left', 'right'])
      assert.deepEqual(ids(await store.referrers('t', 9)), ['a', 'z'])
      assert.deepEqual(await store.holder(domain('a.test')), row('a'))
    })
  }

  test('nothing when a claim is released before another row takes it', async () => {
    await using store = await (await newDatabase())()
    await write(store, ...before)
    await write(store, update('a', 2), insert('n', { claims: [domain('a.test')] }))
    await write(store, remove('n'), update('z', 2, { claims: [domain('a.test'), domain('a.test')] }))
    assert.deepEqual(await store.holder(domain('a.test')), row('z', { version: 2 }))
  })

  test('only the batch that the database cannot hold, not its neighbours', async () => {
    await using store = await (await newDatabase())()
    await write(store, event('e_1'))
    const [left, twice, right] = await Promise.allSettled([
      store.commit([insert('left')]),
      store.commit([insert('lost'), event('e_1')]),
      store.commit([insert('right')]),
    ])
    assert.deepEqual(left, { status: 'fulfilled', value: { ok: true, revision: 1 } })
    assert.deepEqual(right, { status: 'fulfilled', value: { ok: true, revision: 2 } })
    assert.ok(twice.status === 'rejected' && twice.reason.code === 'unusable')
    assert.equal(await store.get('lost'), undefined)
  })

  test('all of a batch that it rejects late, and none of its neighbours', async () => {
    await using store = await (await newDatabase())()
    await write(store, insert('a', { claims: [domain('a.test')] }))
    const outcomes = await Promise.all([
      store.commit([insert('left'), event('e_left')]),
      store.commit([event('e_lost'), expect('a', 9)]),
      store.commit([insert('lost'), insert('a')]),
      store.commit([insert('lost', { claims: [domain('b.test'), domain('a.test')] })]),
      store.commit([expect('a', 1), insert('a'), event('e_lost')]),
      store.commit([insert('right'), event('e_right')]),
    ])
    const accepted = outcomes.map(outcome => outcome.ok)
    assert.deepEqual(accepted, [true, false, false, false, false, true])
    assert.deepEqual(ids(await store.list('thing', { limit: 9 })), ['right', 'left', 'a'])
    assert.deepEqual(ids(await store.events(0, 9)), ['e_left', 'e_right'])
    assert.equal(await store.holder(domain('b.test')), undefined)
  })

  test('text that no database can hold, and finds nothing for it', async () => {
    await using store = await (await newDatabase())()
    await write(store, insert('a'))
    assert.equal(await store.get('a\0'), undefined)
    assert.deepEqual(ids(await store.getMany(['a', 'a\0', '\ud800'])), ['a'])
    assert.deepEqual(await store.list('thing', { limit: 9, before: '\0' }), [])
    await assert.rejects(store.commit([insert('b\0')]), { name: 'StoreError', code: 'unusable' })
    assert.deepEqual(await store.commit([insert('b', { refs: ['\ud800'] })]), {
      ok: false,
      refusal: { reason: 'missing', id: 'b', target: '\ud800' },
    })
  })
})
