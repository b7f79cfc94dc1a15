// The rank that a reader picked in one chart, for those that show ranks.

const followers = [];

export const onPickedRank = (follow) => { followers.push(follow); };
export const pickRank = (rank) => { for (const follow of followers) follow(rank); };
