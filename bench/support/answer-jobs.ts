/** The other end of `ask`: responds to each message with the result of the work, or with its error. */
export function answerJobs(work: (job: never) => Promise<object>): void {
  process.on('message', (job: unknown) => {
    work(job as never).then(
      answer => process.send?.(answer),
      (error: unknown) => process.send?.({ error: String(error) }),
    )
  })
}
