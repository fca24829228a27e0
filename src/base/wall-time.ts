// Constant, and slow to read.
const { timeOrigin } = performance

/** A `performance.now` time as milliseconds since 1970. */
export const wallTime = (moment: number): number => timeOrigin + moment
