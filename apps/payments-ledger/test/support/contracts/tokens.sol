// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

contract Token {
    string public constant symbol = "USDC";
    string public constant name = "USDC";
    uint8 public constant decimals = 6;
    mapping(address => uint256) public balanceOf;
    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external virtual returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Logs the whole value and moves a tenth less.
contract FeeToken is Token {
    function transfer(address to, uint256 value) external override returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - value / 10;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Logs, and moves nothing.
contract LyingToken is Token {
    function transfer(address to, uint256 value) external override returns (bool) {
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Says no without reverting.
contract RefusingToken is Token {
    function transfer(address, uint256) external pure override returns (bool) {
        return false;
    }
}

/// Pays in coin from inside a contract: no transaction of the block names the receiver.
contract Payer {
    function pay(address payable to) external payable {
        to.transfer(msg.value);
    }
}
