import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CommitOutcome, Store } from '#store/store.ts'
import { forEachDriver } from './drivers.ts'
import { domain, event, ids, insert, remove, row, update, write } from './writes.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

const accepted = (outcomes: readonly CommitOutcome[]) => outcomes.filter(outcome => outcome.ok)

/** Adds one to the number in the row's body, again whenever another writer was faster. */
async function increment(store: Store, id: string): Promise<void> {
  for (;;) {
    const found = await store.get(id)
    assert.ok(found)
    const body = String(Number(found.body) + 1)
    const outcome = await store.commit([update(id, found.version + 1, { body })])
    if (outcome.ok) return
    assert.deepEqual(outcome.refusal, { reason: 'stale', id })
  }
}

forEachDriver('store under concurrent writers', ({ name, newDatabase }) => {
  /** Two stores on the same database where that is possible; a SQLite file has one process and one store. */
  async function openTwo() {
    const open = await newDatabase()
    const first = await open()
    const second = name === 'sqlite' ? first : await open()
    const close = async () => {
      await first[Symbol.asyncDispose]()
      await second[Symbol.asyncDispose]()
    }
    return { first, second, either: (n: number) => (n % 2 ? first : second), [Symbol.asyncDispose]: close }
  }

  test('numbers 200 concurrent commits without a gap', async () => {
    await using stores = await openTwo()
    const outcomes = await Promise.all(
      numbers(200).map(n => stores.either(n).commit([insert(`r${n}`), event(`e${n}`)])),
    )
    const revisions = outcomes.map(outcome => (outcome.ok ? outcome.revision : 0))
    assert.deepEqual(
      revisions.toSorted((a, b) => a - b),
      numbers(200).map(n => n + 1),
    )
    const changes = await stores.first.changes(0, 1000)
    assert.deepEqual(
      changes.map(change => change.revision),
      numbers(200).map(n => n + 1),
    )
    for (const [n, revision] of revisions.entries()) assert.equal(changes[revision - 1]?.id, `r${n}`)
    const events = await stores.first.events(0, 1000)
    assert.deepEqual(
      events.map(one => `r${one.id.slice(1)}`),
      changes.map(change => change.id),
    )
  })

  test('shows a reader of changes each revision once, in order, while they are being made', async () => {
    await using stores = await openTwo()
    const writing = Promise.all(numbers(100).map(n => write(stores.either(n), insert(`r${n}`))))
    const seen: number[] = []
    while (seen.length < 100) {
      // Half of the calls know how far they need to see.
      const known = seen.length % 2 ? await stores.second.revision() : undefined
      const next = await stores.second.changes(seen.at(-1) ?? 0, 7, known)
      seen.push(...next.map(change => change.revision))
      if (known !== undefined && next.length < 7) assert.ok((seen.at(-1) ?? 0) >= known)
      await new Promise(resolve => setImmediate(resolve))
    }
    await writing
    assert.deepEqual(
      seen,
      numbers(100).map(n => n + 1),
    )
  })

  test('shows the changes of others between its own, up to a known revision', async () => {
    await using stores = await openTwo()
    const order = ['first', 'first', 'second', 'first', 'second', 'second', 'first'] as const
    for (const [n, writer] of order.entries()) {
      await write(stores[writer], insert(`r${n}`))
      for (const store of [stores.first, stores.second])
        for (let after = 0; after <= n; after += 1) {
          const changes = await store.changes(after, 99, await store.revision())
          assert.deepEqual(
            ids(changes),
            numbers(n + 1)
              .slice(after)
              .map(at => `r${at}`),
          )
        }
    }
  })

  test('keeps the rows of its own latest changes, unless a change of others is among them', async () => {
    await using stores = await openTwo()
    const { first, second } = stores
    // Only after it the connections are open.
    await write(first, insert('early'))
    await write(second, insert('other'))
    await write(first, insert('a'), update('other', 2, { parent: 'a' }))
    await write(first, update('a', 2), remove('other', 2))
    const found = async (after: number, known: number) =>
      first.recentRows(await first.changes(after, 99, known), known)
    const both = [row('a'), row('other', { version: 2, parent: 'a' })]
    assert.deepEqual(await found(2, 6), [...both, row('a', { version: 2 })])
    assert.deepEqual(await found(3, 6), [...both.slice(1), row('a', { version: 2 })])
    assert.deepEqual(await found(5, 6), [])
    if (name === 'postgres') assert.equal(await found(1, 6), undefined)

    await write(second, insert('late'))
    if (name === 'postgres') assert.equal(await found(2, 7), undefined)
    await write(first, insert('large', { body: JSON.stringify('x'.repeat(10_000)) }), insert('small'))
    assert.equal(await found(7, 9), undefined)
    assert.deepEqual(await found(8, 9), [row('small')])
  })

  test('reads a revision with all that was committed before the call', async () => {
    await using stores = await openTwo()
    const revision = async () => stores.second.revision()
    const earlier: Promise<number>[] = []
    for (const n of numbers(50)) {
      const writing = write(stores.first, insert(`r${n}`))
      earlier.push(revision())
      await writing
      assert.deepEqual(await Promise.all([revision(), revision()]), [n + 1, n + 1])
    }
    for (const [n, early] of (await Promise.all(earlier)).entries())
      assert.ok(early === n || early === n + 1, `${early} at ${n}`)
  })

  test('applies the batches of one transaction in the order of their calls', async () => {
    await using stores = await openTwo()
    const { first: store } = stores
    const batches = [
      [insert('a', { body: '"first"' }), event('e1')],
      [insert('b')],
      [insert('a', { body: '"second"' }), event('e2')],
      [event('e3'), insert('c', { parent: 'd' })],
      [event('e4'), insert('d'), event('e5')],
      [insert('c', { parent: 'd' })],
      [insert('e')],
      [remove('e')],
      [insert('e', { body: '"again"' })],
    ]
    const outcomes = await Promise.all(batches.map(batch => store.commit(batch)))
    assert.deepEqual(outcomes, [
      { ok: true, revision: 1 },
      { ok: true, revision: 2 },
      { ok: false, refusal: { reason: 'exists', id: 'a' } },
      { ok: false, refusal: { reason: 'missing', id: 'c', target: 'd' } },
      { ok: true, revision: 3 },
      { ok: true, revision: 4 },
      { ok: true, revision: 5 },
      { ok: true, revision: 6 },
      { ok: true, revision: 7 },
    ])
    const changes = await store.changes(0, 99)
    assert.deepEqual(
      changes.map(({ id, op }) => `${op} ${id}`),
      ['insert a', 'insert b', 'insert d', 'insert c', 'insert e', 'remove e', 'insert e'],
    )
    assert.deepEqual(ids(await store.events(0, 99)), ['e1', 'e4', 'e5'])
    assert.equal((await store.get('a'))?.body, '"first"')
    assert.equal((await store.get('e'))?.body, '"again"')
  })

  test('rejects of many new rows only those that exist', async () => {
    await using stores = await openTwo()
    await write(stores.first, insert('old', { body: '"old"' }))
    const batches = ['a', 'old', 'b', 'a', 'c'].map((id, n) => [insert(id), event(`e${n}`)])
    const outcomes = await Promise.all(batches.map(batch => stores.second.commit(batch)))
    assert.deepEqual(outcomes, [
      { ok: true, revision: 2 },
      { ok: false, refusal: { reason: 'exists', id: 'old' } },
      { ok: true, revision: 3 },
      { ok: false, refusal: { reason: 'exists', id: 'a' } },
      { ok: true, revision: 4 },
    ])
    assert.equal((await stores.first.get('old'))?.body, '"old"')
    assert.deepEqual(ids(await stores.first.changes(1, 99)), ['a', 'b', 'c'])
    assert.deepEqual(ids(await stores.first.events(0, 99)), ['e0', 'e2', 'e4'])
  })

  test('loses no update', async () => {
    await using stores = await openTwo()
    await write(stores.first, insert('n', { body: '0' }))
    await Promise.all(numbers(24).map(n => increment(stores.either(n), 'n')))
    const found = await stores.first.get('n')
    assert.deepEqual([found?.body, found?.version], ['24', 25])
  })

  test('gives a claim to one of many', async () => {
    await using stores = await openTwo()
    const outcomes = await Promise.all(
      numbers(50).map(n => stores.either(n).commit([insert(`r${n}`, { claims: [domain('a.test')] })])),
    )
    assert.equal(accepted(outcomes).length, 1)
    const owner = await stores.first.holder(domain('a.test'))
    for (const outcome of outcomes) {
      if (outcome.ok) continue
      assert.deepEqual(outcome.refusal, { reason: 'claimed', claim: domain('a.test'), owner: owner?.id })
    }
    assert.equal((await stores.first.list('thing', { limit: 99 })).length, 1)
  })

  test('never breaks a reference when one side is removed while the other is made', async () => {
    await using stores = await openTwo()
    for (const n of numbers(20)) {
      const [target, source] = [`t${n}`, `s${n}`]
      await write(stores.first, insert(target))
      const [made, removed] = await Promise.all([
        stores.first.commit([insert(source, n % 2 ? { refs: [target] } : { parent: target })]),
        stores.second.commit([remove(target)]),
      ])
      assert.notEqual(made.ok, removed.ok)
      assert.equal((await stores.first.get(source)) !== undefined, made.ok)
      assert.equal((await stores.first.get(target)) !== undefined, made.ok)
    }
  })

  test('lets one of many decide a meta key', async () => {
    await using stores = await openTwo()
    const values = await Promise.all(numbers(20).map(n => stores.either(n).claimMeta('key', `v${n}`)))
    assert.equal(new Set(values).size, 1)
  })

  test('takes a bounded number of waiting batches and rejects others', async () => {
    await using stores = await openTwo()
    const results = await Promise.allSettled(numbers(10_001).map(() => stores.first.commit([])))
    const rejected = results.filter(result => result.status === 'rejected')
    assert.deepEqual(
      rejected.map(result => result.reason.code),
      ['unavailable'],
    )
    await write(stores.first, insert('after'))
  })
})
