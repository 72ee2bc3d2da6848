#!/bin/bash
# 训练启动脚本：train_start.sh <代码目录> <输出目录> <训练程序> [训练参数 …]
# Called by the job's container: code directory, output directory, program, then the program's own arguments.
set -o pipefail

readonly CODE_DIR="${1:?code directory}"
readonly OUTPUT_DIR="${2:?output directory}"
readonly APP="${3:?training program}"
shift 3

logger() {
    echo "[$(date '+%Y-%m-%d %H:%M:%S')] $*"
}

get_env_for_pytorch_multi_node_job() {
    # 由 ascend-operator 注入：MASTER_ADDR、MASTER_PORT、WORLD_SIZE、RANK、LOCAL_WORLD_SIZE
    export GPUS_PER_NODE="${LOCAL_WORLD_SIZE:-8}"
    export NNODES=$((WORLD_SIZE / GPUS_PER_NODE))
    export NODE_RANK="${RANK:-0}"
    export HCCL_CONNECT_TIMEOUT=1800
    export CUDA_DEVICE_MAX_CONNECTIONS=1
}

framework="${FRAMEWORK:-PyTorch}"
server_id="${RANK:-0}"
mkdir -p "${OUTPUT_DIR}/logs"
cd "${CODE_DIR}" || exit 1

logger "server id is: ""${server_id}"
if [ "${framework}" == "PyTorch" ]; then
    get_env_for_pytorch_multi_node_job
    # rank 0 上的 MindIO 控制器监听 POD_IP
    if [ "${server_id}" -eq 0 ]; then
        export TTP_ADDR="${POD_IP}"
    else
        export TTP_ADDR="${MASTER_ADDR}"
    fi
    DISTRIBUTED_ARGS="--nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT"
    DLS_PROGRAM_EXECUTOR="${PYTHON:-python}"
    ${DLS_PROGRAM_EXECUTOR} -m torch.distributed.run $DISTRIBUTED_ARGS "${APP}" "$@" \
        --distributed-backend nccl 2>&1 | tee "${OUTPUT_DIR}/logs/rank_${server_id}.log"
    ret=${PIPESTATUS[0]}
else
    logger "framework ${framework} is not supported"
    ret=1
fi

if [ "${ret}" -ne 0 ]; then
    logger "training ended with ${ret}"
fi
exit "${ret}"
