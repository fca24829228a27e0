import { KeyedSerialQueue } from '#base/serial-queue.ts'

/**
 * Serializes changes of one resource within this process, so that many callers do not run out of attempts. Between
 * processes the store's versions decide.
 */
export const changeQueue = new KeyedSerialQueue()
