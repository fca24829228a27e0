import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { commitGroup, insertGroup } from '#store/apply.ts'
import { postgres } from '#store/dialect.ts'
import { statements } from '#store/statements.ts'
import type { Write } from '#store/store.ts'
import { domain, event, expect, insert } from './writes.ts'

const sql = statements(postgres)

/** The statements of a group, as a database answers them in which none of its rows exist. */
function statementsOf(batches: readonly (readonly Write[])[]): string[] {
  const inserted = batches
    .flat()
    .flatMap(write => (write.op === 'insert' ? [{ id: write.entry.row.id }] : []))
  const run = insertGroup(sql, batches) ?? commitGroup(sql, batches)
  const texts: string[] = []
  for (let step = run.next(); !step.done;) {
    const { text } = step.value
    texts.push(text)
    step = run.next(text === sql.lockCounter ? [{ revision: 0, sequence: 0 }] : inserted)
  }
  return texts
}

const plain = Array.from({ length: 50 }, (_, n) => [insert(`r${n}`), event(`e${n}`)])

suite('a group of batches on PostgreSQL', () => {
  const { begin, lockCounter, insertRow, inBulk, commit } = sql

  test('takes one round trip for new rows', () => {
    assert.deepEqual(statementsOf(plain), [inBulk?.insertGroup])
    assert.deepEqual(statementsOf(plain.slice(0, 1)), [inBulk?.insertGroup])
  })

  test('takes as many round trips for 50 new rows beside another change as for one', () => {
    const other = [expect('r', 1), event('e')]
    const texts = [begin, lockCounter, inBulk?.insertRows, sql.standing, inBulk?.writeLog, commit]
    assert.deepEqual(statementsOf([...plain, other]), texts)
    assert.deepEqual(
      statementsOf([...plain.slice(0, 1), other]),
      texts.map(text => (text === inBulk?.insertRows ? insertRow : text)),
    )
  })

  test('inserts a row with a claim by itself, between its neighbours', () => {
    const claiming = [insert('c', { claims: [domain('c.test')] })]
    const texts = statementsOf([...plain, claiming, ...plain])
    const inserts = texts.filter(text => text.startsWith('INSERT INTO resource'))
    assert.deepEqual(inserts, [inBulk?.insertRows, insertRow, inBulk?.insertRows])
  })
})
