/** The other end of `ask`: responds to each message with the result of the work, or with its error. */
export function answerJobs<Job>(work: (job: Job) => Promise<object>): void {
  process.on('message', (job: Job) => {
    work(job).then(
      answer => process.send?.(answer),
      (error: unknown) => process.send?.({ error: String(error) }),
    )
  })
}
