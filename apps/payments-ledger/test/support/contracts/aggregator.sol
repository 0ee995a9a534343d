// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// What a Chainlink price feed answers, as it is told to.
contract Aggregator {
    uint8 public decimals;
    uint80 private roundId;
    int256 private answer;
    uint256 private updatedAt;
    uint80 private answeredInRound;

    function set(uint8 decimals_, uint80 roundId_, int256 answer_, uint256 updatedAt_, uint80 answeredInRound_) external {
        decimals = decimals_;
        roundId = roundId_;
        answer = answer_;
        updatedAt = updatedAt_;
        answeredInRound = answeredInRound_;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (roundId, answer, updatedAt, updatedAt, answeredInRound);
    }
}
