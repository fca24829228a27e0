import { newId } from '#base/ids.ts'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.split('')
/** All endings of two digits, in order. */
const endings = digits.flatMap(first => digits.map(second => first + second))

let stem = ''
let used = endings.length

/** An id for one request. Every request needs one, so a fresh id serves as the stem of many. */
export function newOperationId(): string {
  if (used === endings.length) {
    stem = newId('op').slice(0, -2)
    used = 0
  }
  return stem + (endings[used++] ?? '')
}
